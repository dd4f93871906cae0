#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Implementations computed by external programs, each in its own process (python/attnscope,
// docs/python.md). They follow this program's implementations in the list; whole models do as well,
// and decline every attention (engine/model/served computes them).

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/attention/served/served_process.h"
#include "engine/pattern/axes.h"

namespace attnscope {

/// An implementation of attention or a whole model (engine/model/served) computed by a program of
/// --with. It has its own process, started on first use, and restarted if it has ended or if
/// another number of threads is requested.
///
///   for (ServedOffer& offer : served_offers())
///     if (offer.id == "mine" && offer.supports("full", DType::float32, DeviceKind::cpu))
///       auto process = offer.process(/*threads=*/2);
class ServedOffer {
 public:
  enum class Kind : bool { implementation, model };
  /// `reported` is the program's description of it; `about` describes the program and its
  /// libraries.
  ServedOffer(Kind kind, std::string program, nlohmann::json reported, nlohmann::json about);

  [[nodiscard]] Result<std::shared_ptr<ServedProcess>> process(int threads);
  /// Adopts a process that is already running.
  void keep(std::shared_ptr<ServedProcess> process) { process_ = std::move(process); }

  /// The process, if it is running.
  [[nodiscard]] std::optional<pid_t> running() const {
    return process_ && process_->is_there() ? std::optional(process_->pid()) : std::nullopt;
  }

  /// Ok, or the reason why the combination is not supported.
  [[nodiscard]] Status supports(std::string_view pattern, DType dtype, DeviceKind device) const;
  [[nodiscard]] const nlohmann::json& reported() const { return reported_; }
  /// Description for provenance.
  [[nodiscard]] nlohmann::json in_words() const;

  Kind kind;
  std::string id, summary;

 private:
  friend class ServedPlan;
  std::string program_;
  nlohmann::json reported_, about_;
  std::shared_ptr<ServedProcess> process_;
  std::int64_t plans_ = 0;           // prepared so far
  const void* last_used_ = nullptr;  // owner of the plan that the process computes next
};

/// An object in the process for an owner here, identified by a number: an attention with
/// its plan, or a loaded model. The process drops it when this is destroyed.
class ServedPlan {
 public:
  explicit ServedPlan(ServedOffer& offer) : offer_(offer), number_(++offer.plans_) {}
  ServedPlan(const ServedPlan&) = delete;
  ServedPlan& operator=(const ServedPlan&) = delete;
  ~ServedPlan();

  [[nodiscard]] const ServedOffer& offer() const { return offer_; }
  /// Starts the process if needed; the request that makes the object follows. Throws
  /// std::runtime_error if the process cannot be started.
  void begin(int threads);
  /// The answer to {"request": `request`, "plan": the number, ...`fields`}. Throws
  /// ServedProcessEnded if the process ends meanwhile, like call().
  [[nodiscard]] Result<nlohmann::json> ask(const char* request, nlohmann::json fields = {},
                                           const ServedProcess::OnQuestion& on_question = {}) const;
  /// The answer to a one-letter request of the protocol: null, or an object.
  [[nodiscard]] Result<nlohmann::json> call(
      char request, const ServedProcess::OnQuestion& on_question = {}) const;
  [[nodiscard]] bool is_there() const { return process_ && process_->is_there(); }
  /// Stops the process from computing until the next request.
  void stop() const {
    if (process_) process_->stop();
  }
  /// Call it before requests. `make` makes the object again if the process has ended, for example
  /// because of another contender.
  [[nodiscard]] Status use(const std::function<Status()>& make);

 private:
  [[nodiscard]] Result<nlohmann::json> unless_ended(Result<nlohmann::json> answer) const;

  ServedOffer& offer_;
  std::int64_t number_;
  std::shared_ptr<ServedProcess> process_;
};

/// The offers of all programs; filled by serve_with. A deque, because the list of
/// implementations points to its elements.
[[nodiscard]] std::deque<ServedOffer>& served_offers();

/// Requests the offers of these programs. The list includes them from its first use on, so call
/// this before. `on_look` is called ten times a second while it waits for a program. Errors: a
/// program that does not greet, an id that is invalid or already in use.
[[nodiscard]] Status serve_with(const std::vector<std::string>& programs, int threads,
                                const std::function<void()>& on_look = {});

/// Provenance of each of them: its id, its program, what computes it and the time of an empty call.
/// Empty without such programs.
[[nodiscard]] nlohmann::json served_in_words();

/// The running programs, and the processes that they have started.
[[nodiscard]] std::vector<pid_t> served_processes();

}  // namespace attnscope
