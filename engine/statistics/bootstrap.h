#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The hierarchical bootstrap under summary.h: medians of resampled placements and rounds. Values
// are ranked once, so a resample only counts ranks; 5 placements of 100 rounds take about a
// millisecond.

#include <cstdint>
#include <span>
#include <vector>

namespace attnscope::statistics {

/// Values in nested order: group g is values[begin[g]] ... values[begin[g + 1] - 1].
struct Groups {
  std::vector<double> values;
  std::vector<std::size_t> begin{0};
  [[nodiscard]] std::size_t count() const { return begin.size() - 1; }
};

/// Mean of the two middle values for even counts; NaN for none. All values must be finite.
[[nodiscard]] double median_of(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
};

/// 95% percentile interval of the median.
[[nodiscard]] Interval bootstrap_median(const Groups& groups);
/// The same of median(a) / median(b). Paired: a and b have the same groups and are drawn together.
[[nodiscard]] Interval bootstrap_ratio(const Groups& a, const Groups& b, bool paired);

/// Two-sided 95% quantile of Student's t for 1 to 3 degrees of freedom.
[[nodiscard]] double student_t95(int degrees);

}  // namespace attnscope::statistics
