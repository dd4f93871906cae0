#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker protocol: JSON Lines on the worker's stdin (requests) and its original stdout
// (events). A driver in any language can use it; docs/protocol.md has the grammar with examples.
// This header has its lines and its version, and the JSON of heats and their results, which is also
// stored with runs; machine_messages.h and model_messages.h have the requests and events.
//
// Each request is answered before the next is read, except cancel and quit, which take effect at
// once.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.h"
#include "engine/heat/cell.h"
#include "engine/heat/heat.h"

namespace attnscope {

template <>
struct JsonValue<Window> {
  static nlohmann::json write(Window window) { return window.text(); }
  static Window read(const JsonField& field) { return window_in(field); }
};
template <>
struct JsonValue<DeviceKind> : NamedJsonValue<DeviceKind, parse_device> {};
template <>
struct JsonValue<CellStatus> : NamedJsonValue<CellStatus, parse_cell_status> {};

// What heats and their results consist of; protocol.cpp has the lists of their fields.
template <>
struct JsonValue<HeatPoint> {
  static nlohmann::json write(const HeatPoint& point);
  static HeatPoint read(const JsonField& field);
};
template <>
struct JsonValue<Contender> {
  static nlohmann::json write(const Contender& contender);
  static Contender read(const JsonField& field);
};
template <>
struct JsonValue<StopRule> {
  static nlohmann::json write(const StopRule& rule);
  static StopRule read(const JsonField& field);
};
template <>
struct JsonValue<Heat> {
  static nlohmann::json write(const Heat& heat);
  static Heat read(const JsonField& field);
};
template <>
struct JsonValue<PartTime> {
  static nlohmann::json write(const PartTime& part);
  static PartTime read(const JsonField& field);
};
template <>
struct JsonValue<Cell> {
  static nlohmann::json write(const Cell& cell);
  static Cell read(const JsonField& field);
};
template <>
struct JsonValue<HeatResult> {
  static nlohmann::json write(const HeatResult& result);
  static HeatResult read(const JsonField& field);
};
template <>
struct JsonValue<Ceilings> {
  static nlohmann::json write(const Ceilings& ceilings);
  static Ceilings read(const JsonField& field);
};

}  // namespace attnscope

namespace attnscope::protocol {

/// The version that this program writes, and the oldest that it reads. A newer version only adds
/// requests, events and fields that may be missing, so a driver can measure with the worker of an
/// older build.
inline constexpr int version = 8;
inline constexpr int oldest_version = 8;

/// A value as JSON, and from it. It is unchanged after writing and reading. An invalid value is an
/// error that names the field below `root`; unknown fields are ignored.
template <typename T>
[[nodiscard]] nlohmann::json to_json(const T& value) {
  return JsonValue<T>::write(value);
}
template <typename T>
[[nodiscard]] Result<T> from_json(const nlohmann::json& value, std::string_view root) {
  return read_json(value, root, [](const JsonField& field) { return JsonValue<T>::read(field); });
}

/// A request or an event as it is sent.
template <HasFields Message>
[[nodiscard]] nlohmann::json as_request(const Message& message) {
  nlohmann::json fields = as_json(message);
  fields["request"] = Message::name;
  return fields;
}
template <HasFields Message>
[[nodiscard]] nlohmann::json as_event(const Message& message) {
  nlohmann::json fields = as_json(message);
  fields["event"] = Message::name;
  return fields;
}
/// A request or an event as it arrives; the error names a missing or malformed field.
template <HasFields Message>
[[nodiscard]] Result<Message> read_message(const nlohmann::json& message) {
  return read_json(message, "", [](const JsonField& root) { return read_fields<Message>(root); });
}

/// One line of the protocol, parsed; an error quotes the start of the line.
[[nodiscard]] Result<nlohmann::json> parse_line(std::string_view line);
/// A message as one line with its line feed; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string write_line(const nlohmann::json& message);

/// The number of cores in a greeting's `device`, or in that stored with a run; nothing if it is
/// missing or impossible.
[[nodiscard]] std::optional<int> cores_of(const nlohmann::json& device);

}  // namespace attnscope::protocol
