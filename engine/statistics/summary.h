#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Medians, hierarchical bootstrap intervals and verdicts; plain numbers in and out.
//
//   Summary s = summarise({{0, 0, 1.2e6}, {0, 1, 1.3e6}, {1, 0, 1.1e6}});
//   Ratio r = paired_ratio(ours, theirs);   if (r.verdict == Verdict::faster) ...

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace attnscope::statistics {

/// One measured time with the levels it is nested in.
struct Observation {
  int placement = 0;
  int round = 0;
  double time_ns = 0;
};

/// Median and its 95% interval. The bootstrap resamples placements, then rounds within them.
struct Summary {
  double median_ns = 0, low_ns = 0, high_ns = 0;
  int samples = 0, placements = 0;
};
[[nodiscard]] Summary summarise(std::span<const Observation> observations);

enum class Verdict : std::uint8_t { faster, slower, no_difference_shown };
[[nodiscard]] std::string_view name_of(Verdict verdict);  // "faster", "slower", "no difference shown"

/// ratio = A / B, below 1 is better for A. Paired when both share placements and rounds; the
/// interval then resamples those. A verdict only when the interval excludes 1.
struct Ratio {
  double ratio = 0, low = 0, high = 0;
  bool paired = false;
  Verdict verdict = Verdict::no_difference_shown;
};
[[nodiscard]] Ratio paired_ratio(std::span<const Observation> a, std::span<const Observation> b);
[[nodiscard]] Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b);

/// Modified z-score on the median absolute deviation above 3.5: flagged, never dropped.
[[nodiscard]] std::vector<bool> outliers(std::span<const Observation> observations);

}  // namespace attnscope::statistics
