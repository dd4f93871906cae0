#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Remaining time of a run. A heat checks its contenders and then times them. The time of timing is
// estimated as the stop rules' bounds, multiplied by the share of the bounds that timing has taken
// so far; the time of checks from the time that a check has taken per token so far. Both estimates
// are updated while a heat is measured.
//
//   TimeLeft left(heats);
//   left.heat_started(heats[0], now);
//   left.phase_began("check", now);
//   double seconds = left.seconds(later);

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/heat/heat.h"

namespace attnscope {

/// Longest time of a heat by its stop rule, in seconds; times in `stop` are per cell. A busy
/// machine may need twice that.
[[nodiscard]] double longest_seconds(const Heat& heat);

class TimeLeft {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit TimeLeft(const std::vector<Heat>& heats) {
    for (const Heat& heat : heats) {
      timing_.add(longest_seconds(heat));
      checks_.add(units_of_checks(heat));
    }
  }

  void heat_started(const Heat& heat, Time now) {
    timing_.begin(longest_seconds(heat), 1);
    checks_.begin(units_of_checks(heat), checks_of(heat));
    phase_ = Phase::other;
    counted_until_ = now;
  }
  /// "prepare", "check" or "time", as the measuring process reports them for each contender.
  void phase_began(std::string_view phase, Time now) {
    count(now);
    if (phase_ == Phase::check) checks_.end_part();
    phase_ = phase == "check" ? Phase::check : phase == "time" ? Phase::time : Phase::other;
  }
  void heat_finished(Time now) {
    count(now);
    timing_.end();
    checks_.end();
    counted_until_.reset();
  }

  /// Remaining time in seconds.
  [[nodiscard]] double seconds(Time now) const {
    TimeLeft then = *this;
    then.count(now);
    return then.timing_.seconds_left(1, phase_ == Phase::time) +
           then.checks_.seconds_left(0, phase_ == Phase::check);
  }

 private:
  enum class Phase { other, check, time };

  /// One kind of work, in units of about equal time. A heat divides it into equal parts.
  class Work {
   public:
    void add(double units) { left_ += units; }
    void begin(double units, std::size_t parts) {
      part_ = units / static_cast<double>(std::max<std::size_t>(parts, 1));
      own_ = units;
      finished_ = spent_on_finished_ = spent_on_part_ = 0;
    }
    void spend(double seconds) { spent_on_part_ += seconds; }
    void end_part() {
      finished_ = std::min(finished_ + part_, own_);
      spent_on_finished_ += std::exchange(spent_on_part_, 0);
    }
    void end() {
      done_ += own_;
      seconds_done_ += spent_on_finished_ + spent_on_part_;
      left_ -= own_;
      begin(0, 1);
    }
    /// `first_rate`: seconds per unit until a part is finished. An overdue part is expected to take
    /// another quarter of the time it has taken.
    [[nodiscard]] double seconds_left(double first_rate, bool is_under_way) const {
      const double known = done_ + finished_;
      const double rate = known > 0                   ? (seconds_done_ + spent_on_finished_) / known
                          : part_ > 0 && is_under_way ? std::max(first_rate, spent_on_part_ / part_)
                                                      : first_rate;
      if (finished_ >= own_) return rate * (left_ - own_);
      const double late = is_under_way ? spent_on_part_ / 4 : 0;
      return std::max(rate * part_ - spent_on_part_, late) + rate * (left_ - finished_ - part_);
    }

   private:
    double left_ = 0;                           // remaining units, including those of this heat
    double done_ = 0, seconds_done_ = 0;        // finished heats
    double own_ = 0, part_ = 0, finished_ = 0;  // this heat
    double spent_on_finished_ = 0, spent_on_part_ = 0;
  };

  static std::size_t checks_of(const Heat& heat) {
    const int processes = std::clamp(heat.stop.processes, 1, std::max(heat.stop.placements, 1));
    return heat.contenders.size() * static_cast<std::size_t>(processes);
  }
  static double units_of_checks(const Heat& heat) {
    return static_cast<double>(checks_of(heat)) *
           static_cast<double>(std::max<std::int64_t>(heat.point.sequence_tokens, 1));
  }

  void count(Time now) {
    if (!counted_until_) return;
    const double seconds = std::chrono::duration<double>(now - *counted_until_).count();
    (phase_ == Phase::time ? timing_ : checks_).spend(seconds);
    counted_until_ = now;
  }

  Work timing_, checks_;
  Phase phase_ = Phase::other;
  std::optional<Time> counted_until_;  // while a heat is measured
};

}  // namespace attnscope
