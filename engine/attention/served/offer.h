#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One thing that a program of --with computes: an implementation of attention, or a whole model
// (engine/model/served). It has a process of its own, started when it is first needed, and anew
// when it has ended or another number of threads is asked for.
//
//   for (ServedOffer& offer : served_offers())
//     if (offer.id == "mine" && offer.takes("full", DType::float32, DeviceKind::cpu))
//       auto process = offer.process(/*threads=*/2);

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/attention/served/served_process.h"
#include "engine/pattern/axes.h"
#include "kernels/base/result.h"

namespace attnscope {

class ServedOffer {
 public:
  enum class Kind : bool { implementation, model };
  /// `told` is what the program says of it, `about` what computes it.
  ServedOffer(Kind kind, std::string program, nlohmann::json told, nlohmann::json about);

  [[nodiscard]] Result<std::shared_ptr<ServedProcess>> process(int threads);
  /// One that runs already.
  void keep(std::shared_ptr<ServedProcess> process) { process_ = std::move(process); }

  /// The process, where it is there.
  [[nodiscard]] std::optional<pid_t> running() const {
    return process_ && process_->is_there() ? std::optional(process_->pid()) : std::nullopt;
  }

  /// Ok, or the reason why not.
  [[nodiscard]] Status takes(std::string_view pattern, DType dtype, DeviceKind device) const;
  [[nodiscard]] const nlohmann::json& told() const { return told_; }
  /// For provenance.
  [[nodiscard]] nlohmann::json in_words() const;

  Kind kind;
  std::string id, summary;

 private:
  friend class ServedPlan;
  std::string program_;
  nlohmann::json told_, about_;
  std::shared_ptr<ServedProcess> process_;
  std::int64_t plans_ = 0;           // ever prepared
  const void* last_used_ = nullptr;  // whose plan the process computes next
};

/// What a process holds for its owner here, by a number that both know it by: an attention with its
/// plan, or a loaded model. Dropped there when this goes.
class ServedPlan {
 public:
  explicit ServedPlan(ServedOffer& offer) : offer_(offer), number_(++offer.plans_) {}
  ServedPlan(const ServedPlan&) = delete;
  ServedPlan& operator=(const ServedPlan&) = delete;
  ~ServedPlan();

  [[nodiscard]] const ServedOffer& offer() const { return offer_; }
  /// With the process, started if need be: what makes it is asked next. Throws std::runtime_error
  /// where it cannot be started.
  void begin(int threads);
  /// Its answer to {"request": `request`, "plan": the number, ...`fields`}. Throws
  /// ServedProcessEnded where the process ends meanwhile, as call() does.
  [[nodiscard]] Result<nlohmann::json> ask(const char* request, nlohmann::json fields = {},
                                           const ServedProcess::OnQuestion& on_question = {}) const;
  /// The answer to a letter of the protocol: null, or an object.
  [[nodiscard]] Result<nlohmann::json> call(
      char request, const ServedProcess::OnQuestion& on_question = {}) const;
  [[nodiscard]] bool is_there() const { return process_ && process_->is_there(); }
  /// Until it is asked again, the process computes nothing.
  void stop() const {
    if (process_) process_->stop();
  }
  /// Before calls. `make` makes it anew where the process has ended: another contender's end.
  [[nodiscard]] Status use(const std::function<Status()>& make);

 private:
  [[nodiscard]] Result<nlohmann::json> unless_ended(Result<nlohmann::json> answer) const;

  ServedOffer& offer_;
  std::int64_t number_;
  std::shared_ptr<ServedProcess> process_;
};

/// Of all programs; filled by serve_with (served.h). A deque, because the list of implementations
/// points at what is in it.
[[nodiscard]] std::deque<ServedOffer>& served_offers();

}  // namespace attnscope
