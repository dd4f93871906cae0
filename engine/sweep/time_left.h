#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long a run will go on: the stop rules' bound of what is left, times the share of their bounds
// that the heats so far have really taken.

#include <chrono>
#include <optional>

#include "engine/heat/heat.h"

namespace attnscope {

/// Longest time of a heat by its stop rule, in seconds; times in `stop` are per cell.
[[nodiscard]] double longest_seconds(const Heat& heat);

class TimeLeft {
 public:
  explicit TimeLeft(double bound_seconds) : bound_left_(bound_seconds) {}

  void heat_started(const Heat& heat, std::chrono::steady_clock::time_point now) {
    heat_bound_ = longest_seconds(heat);
    heat_began_ = now;
  }
  void heat_finished(std::chrono::steady_clock::time_point now) {
    measured_ += elapsed(now);
    bound_done_ += heat_bound_;
    bound_left_ -= heat_bound_;
    heat_began_.reset();
  }
  [[nodiscard]] double seconds(std::chrono::steady_clock::time_point now) const {
    const double share = bound_done_ > 0 ? measured_ / bound_done_ : 1;
    const double whole = share * bound_left_;
    // A heat that takes longer than foreseen does not eat the time of those after it.
    const double current = heat_began_ ? share * heat_bound_ : 0;
    return whole - current + (current > elapsed(now) ? current - elapsed(now) : 0);
  }

 private:
  [[nodiscard]] double elapsed(std::chrono::steady_clock::time_point now) const {
    return heat_began_ ? std::chrono::duration<double>(now - *heat_began_).count() : 0;
  }

  double bound_left_ = 0, bound_done_ = 0, measured_ = 0, heat_bound_ = 0;
  std::optional<std::chrono::steady_clock::time_point> heat_began_;
};

}  // namespace attnscope
