#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The messages between driver and worker about a machine and its measurements: greeting, heats,
// ceilings, turns, and the single requests of `attend`, `check` and `costs`. Each struct is one
// request or one event and lists its fields once (base/json_fields.h); docs/protocol.md has the
// same lists, with examples.
//
//   Result<Ceilings> rates = ask(worker, protocol::CeilingsRequest{.threads = 2})...   // ask.h
//   channel.send(protocol::event(protocol::CheckDone{.wrong = 0}));

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json_fields.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/worker/protocol.h"
#include "engine/worker/turn.h"

namespace attnscope {

template <>
struct JsonValue<Operation> : NamedJsonValue<Operation, parse_operation> {};
template <>
struct JsonValue<Direction> : NamedJsonValue<Direction, parse_direction> {};
template <>
struct JsonValue<DType> : NamedJsonValue<DType, parse_dtype> {};
template <>
struct JsonValue<Products> : NamedJsonValue<Products, parse_precision> {};

/// A string with the pattern's own JSON.
template <>
struct JsonValue<AttentionPattern> {
  static nlohmann::json write(const AttentionPattern& pattern) { return pattern_json(pattern); }
  static AttentionPattern read(const JsonField& field) {
    return field.take(parse_pattern(field.text(), "pattern"));
  }
};

template <>
struct JsonValue<Measurement> {
  static nlohmann::json write(const Measurement& measurement) { return to_json(measurement); }
  static Measurement read(const JsonField& field) { return read_measurement(field.value()); }
};

}  // namespace attnscope

namespace attnscope::protocol {

inline constexpr std::int64_t most_threads = 4096;

/// The window of `attend` and `costs`, which is "" for none; elsewhere it is null.
struct WindowOrEmpty {
  std::optional<Window> window{};
  friend bool operator==(const WindowOrEmpty&, const WindowOrEmpty&) = default;
};

// Greeting -----------------------------------------------------------------------------------

/// An entry of the worker's list of implementations.
struct ListedImplementation {
  std::string id, summary;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("id", self.id);
    field.or_default("summary", self.summary);
  }
};

/// A worker and its machine. `build`, `device` and `devices` are stored with a run as they are.
struct Hello {
  static constexpr const char* name = "hello";
  int protocol = protocol::version;
  std::string version{};                  // of the program
  nlohmann::json build{};                 // null: unknown
  nlohmann::json device{};                // the machine with its processor; null: unknown
  std::vector<nlohmann::json> devices{};  // "kind", "name", "available", "reason", ...
  std::vector<ListedImplementation> implementations{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("protocol", self.protocol);
    field("version", self.version);
    field.or_default("build", self.build);
    field.or_default("device", self.device);
    field.or_default("devices", self.devices);
    field.or_default("implementations", self.implementations);
  }
};

/// The first request to a worker that measures.
struct HelloRequest {
  static constexpr const char* name = "hello";
  using Answer = Hello;
  int protocol = protocol::version;
  std::string version{};            // of the program
  std::string driver{};             // random number of the driver: take_over_from (sign_of_life.h)
  std::vector<std::string> with{};  // programs whose implementations the worker adds
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field.or_default("protocol", self.protocol);
    field.or_default("version", self.version);
    field.or_default("driver", self.driver);
    field.or_default("with", self.with);
  }
};

struct Description : Hello {
  // cppcheck-suppress duplInheritedMember
  static constexpr const char* name = "describe";
};

struct DescribeRequest {
  static constexpr const char* name = "describe";
  using Answer = Description;
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

// Heats --------------------------------------------------------------------------------------

/// Sent between the phases of a heat, never within timed rounds.
struct Progress {
  static constexpr const char* name = "progress";
  int contender = 0;
  std::string phase{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("contender", self.contender);
    field("phase", self.phase);
  }
};

/// Sent every alive_interval (sign_of_life.h) while a heat is measured.
struct Alive {
  static constexpr const char* name = "alive";
  int contender = -1;  // -1: none is running
  std::int64_t calls = 0;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("contender", self.contender);
    field("calls", self.calls);
  }
};

/// How the worker ended, from the process that watches it: one of `signal` and `exit_code`.
struct WorkerEnded {
  static constexpr const char* name = "ended";
  int contender = -1;
  std::optional<int> signal{}, exit_code{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field.or_default("contender", self.contender);
    field.if_present("signal", self.signal);
    field.if_present("exit_code", self.exit_code);
  }
};

struct MeasuredHeat {
  static constexpr const char* name = "heat";
  HeatResult result{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("result", self.result);
  }
};

/// The placements of a heat that this worker process measures.
struct HeatRequest {
  static constexpr const char* name = "heat";
  using Answer = MeasuredHeat;
  Heat heat{};
  int process = 0;
  std::vector<int> placements{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("heat", self.heat);
    field("process", self.process, 0);
    field("placements", self.placements, 0);
  }
};

struct MeasuredCeilings {
  static constexpr const char* name = "ceilings";
  Ceilings ceilings{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("ceilings", self.ceilings);
  }
};

/// The rates of the processor with a number of threads, or of a device.
struct CeilingsRequest {
  static constexpr const char* name = "ceilings";
  using Answer = MeasuredCeilings;
  std::optional<int> threads{};        // 0 or none: all cores of the worker
  std::optional<DeviceKind> device{};  // none: the processor
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field.if_present("threads", self.threads, 0, most_threads);
    field.if_present("device", self.device);
  }
};

// Turns --------------------------------------------------------------------------------------

/// The measurement that is waited for; none if it is unknown.
struct WaitingForTurn {
  static constexpr const char* name = "waiting";
  DeviceKind device = DeviceKind::cpu;
  std::optional<Measurement> by{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("device", self.device);
    field("by", self.by);
  }
};

struct TurnHeld {
  static constexpr const char* name = "held";
  std::string problem{};  // why there is no lock; empty: the turn is held
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("problem", self.problem);
  }
};

/// Waits for the turn on these devices and holds it until the worker ends.
struct HoldRequest {
  static constexpr const char* name = "hold";
  using Answer = TurnHeld;
  std::set<DeviceKind> devices{};
  std::string what{};        // "run 'mine'"
  std::int64_t process = 0;  // of the driver
  std::string host{};        // of the driver
  bool now = false;          // without waiting
  std::string driver{};      // as in HelloRequest
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("devices", self.devices);
    field.or_default("what", self.what);
    field.or_default("process", self.process);
    field.or_default("host", self.host);
    field.or_default("now", self.now);
    field.or_default("driver", self.driver);
  }
};

/// Other measurements since `held` or the previous such event.
struct OtherMeasurements {
  static constexpr const char* name = "others";
  std::vector<Measurement> measured{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("measured", self.measured);
  }
};

struct OthersRequest {
  static constexpr const char* name = "others";
  using Answer = OtherMeasurements;
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

// Single requests ----------------------------------------------------------------------------

struct Attended {
  static constexpr const char* name = "attend";
  std::int64_t tokens = 0, heads = 0, head_dim = 0;
  double relative_error = 0, error_bound = 0;
  bool lse_written = true;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("tokens", self.tokens);
    field("heads", self.heads);
    field("head_dim", self.head_dim);
    field("relative_error", self.relative_error);
    field("error_bound", self.error_bound);
    field("lse_written", self.lse_written);
  }
};

/// Attention on the tensors of one file, written to another.
struct AttendRequest {
  static constexpr const char* name = "attend";
  using Answer = Attended;
  std::string in{}, out{};  // absolute paths
  AttentionPattern pattern{};
  WindowOrEmpty window{};
  std::string layout_json{}, layout_source{};  // the layout's text and its file name, for messages
  std::string implementation{};
  DType dtype = DType::float32;
  DeviceKind device = DeviceKind::cpu;
  bool backward = false;
  int threads = 0;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("in", self.in);
    field("out", self.out);
    field("pattern_json", self.pattern);
    field("window", self.window);
    field("layout_json", self.layout_json);
    field("layout_source", self.layout_source);
    field("implementation", self.implementation);
    field("dtype", self.dtype);
    field.or_default("device", self.device);
    field.or_default("backward", self.backward);
    field.or_default("threads", self.threads, 0, most_threads);
  }
};

/// One implementation on one pattern, compared with the float64 reference.
struct CheckRow {
  static constexpr const char* name = "check";
  std::string implementation{}, pattern{}, window{}, shape{}, dtype{};
  std::string outcome{};  // "ok", "declined" or "wrong"
  std::string reason{};
  double error_bound = 0;
  std::optional<double> relative_error{};  // none: the output has infinities or NaN
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("implementation", self.implementation);
    field("pattern", self.pattern);
    field("window", self.window);
    field("shape", self.shape);
    field("dtype", self.dtype);
    field("outcome", self.outcome);
    field("reason", self.reason);
    field("error_bound", self.error_bound);
    field.if_present("relative_error", self.relative_error);
  }
};

struct CheckDone {
  static constexpr const char* name = "check-done";
  int wrong = 0;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("wrong", self.wrong);
  }
};

/// Checks every implementation on a device; each row is an event before the answer.
struct CheckRequest {
  static constexpr const char* name = "check";
  using Answer = CheckDone;
  DeviceKind device = DeviceKind::cpu;
  int threads = 0;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("device", self.device);
    field.or_default("threads", self.threads, 0, most_threads);
  }
};

/// What one call over the layout would execute; values that are not counted are missing.
struct ImplementationCosts {
  std::string id{};
  std::string reason{};  // why the implementation does not support the problem; empty if it does
  std::optional<double> executed_flop{}, executed_bytes{};
  std::optional<std::int64_t> peak_bytes{};  // beyond inputs and outputs
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("id", self.id);
    field("reason", self.reason);
    field.if_present("executed_flop", self.executed_flop);
    field.if_present("executed_bytes", self.executed_bytes);
    field.if_present("peak_bytes", self.peak_bytes);
  }
};

struct CountedCosts {
  static constexpr const char* name = "costs";
  std::vector<ImplementationCosts> implementations{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("implementations", self.implementations);
  }
};

/// The costs of a pattern on a layout, as the implementations count them without running.
struct CostsRequest {
  static constexpr const char* name = "costs";
  using Answer = CountedCosts;
  AttentionPattern pattern{};
  WindowOrEmpty window{};
  std::string layout_json{}, layout_source{};
  std::int64_t heads = 0, head_dim = 0;
  DType dtype = DType::float32;
  Direction direction = Direction::forward;
  Operation operation = Operation::attention;
  DeviceKind device = DeviceKind::cpu;
  int threads = 0;
  // A whole model's row in a sweep ("tkl") and its sizes; not used for attention alone.
  std::optional<std::string> model{};
  std::int64_t layers = 0, feed_forward = 0, document_tokens = 0;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("pattern_json", self.pattern);
    field("window", self.window);
    field("layout_json", self.layout_json);
    field("layout_source", self.layout_source);
    field("heads", self.heads);
    field("head_dim", self.head_dim);
    field("dtype", self.dtype);
    field("direction", self.direction);
    field.or_default("operation", self.operation);
    field.or_default("device", self.device);
    field.or_default("threads", self.threads, 0, most_threads);
    field.if_present("model", self.model);
    field.or_default("layers", self.layers);
    field.or_default("feed_forward", self.feed_forward);
    field.or_default("document_tokens", self.document_tokens);
  }
};

// Any request --------------------------------------------------------------------------------

/// The answer to a request that failed.
struct RequestFailed {
  static constexpr const char* name = "error";
  std::string message{};
  std::optional<int> contender{};  // of a heat, if it is the cause
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("message", self.message);
    field.if_present("contender", self.contender);
  }
};

/// Ends the current request after the current iteration.
struct CancelRequest {
  static constexpr const char* name = "cancel";
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

/// Ends the worker.
struct QuitRequest {
  static constexpr const char* name = "quit";
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

}  // namespace attnscope::protocol

namespace attnscope {

template <>
struct JsonValue<protocol::WindowOrEmpty> {
  static nlohmann::json write(const protocol::WindowOrEmpty& value) {
    return value.window ? value.window->text() : std::string();
  }
  static protocol::WindowOrEmpty read(const JsonField& field) {
    if (field.is_text() && field.text().empty()) return {};
    return {window_in(field)};
  }
};

}  // namespace attnscope
