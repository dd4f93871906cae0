#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What one item needs of memory at a length, and how far that goes beyond the longest that was
// measured.

#include <cstdint>
#include <optional>

#include "engine/report/table.h"

namespace attnscope::report {

/// Beyond this many times the longest measured length a prediction is not a number any more.
inline constexpr double farthest_prediction = 16;

/// One item's bytes: the call's peak, and the tensors it reads and writes.
struct Need {
  double tokens = 0, peak = 0, tensors = 0;
  [[nodiscard]] double bytes() const { return peak + tensors; }
};
[[nodiscard]] Need need_of(const Row& row);

/// Beyond `longest`, the peak follows the power of the length that the two longest cells show (no
/// more than a square: attention needs no more), the tensors the length itself.
[[nodiscard]] Need need_at(double tokens, const Need& before, const Need& longest);
/// The longest length whose need stays within `available`, from `longest` itself up to
/// farthest_prediction times its tokens.
[[nodiscard]] double longest_within(double available, const Need& before, const Need& longest);

/// Rounded down to two digits: more would promise what a prediction cannot hold.
[[nodiscard]] std::int64_t two_digits(double value);

/// What the run's device had free when it began; of a GPU nothing is stored.
[[nodiscard]] std::optional<double> free_bytes_at_start(const RunInfo& run, DeviceKind device);

}  // namespace attnscope::report
