#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Two masks of the same tokens against each other, row by row from their intervals: pairs that only
// A allows, only B, and both.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "app/gui/charts/mask_problem.h"

namespace attnscope::charts {

enum class DifferencePart { only_a, only_b, both };
inline constexpr std::size_t difference_part_count = 3;

/// One row's keys, each list ascending and disjoint. Kept by the caller for many rows.
class DifferenceRow {
 public:
  /// `a` and `b` have the same tokens.
  void split(const MaskProblem& a, const MaskProblem& b, std::int64_t query);
  [[nodiscard]] const std::vector<TokenRange>& keys(DifferencePart part) const {
    return parts_[static_cast<std::size_t>(part)];
  }

 private:
  void add(bool in_a, bool in_b, TokenRange keys);

  std::array<std::vector<TokenRange>, difference_part_count> parts_;
  std::vector<TokenRange> a_, b_;
};

/// Pairs of the whole mask in each part, in DifferencePart's order. Nothing when there are too many
/// intervals to look at in a few seconds, or when `superseded` says so meanwhile.
using DifferenceCounts = std::array<std::int64_t, difference_part_count>;
[[nodiscard]] std::optional<DifferenceCounts> count_difference(
    const MaskProblem& a, const MaskProblem& b, const std::function<bool()>& superseded);

}  // namespace attnscope::charts
