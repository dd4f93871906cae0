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
  int process = 0;  // the worker process that made the placement
};

/// Median and its 95% percentile interval. The bootstrap (1000 resamples, fixed seed) resamples
/// placements, then rounds within them. `samples` counts the finite times: others take no part.
/// With a single sample the interval is the sample itself.
struct Summary {
  double median_ns = 0, low_ns = 0, high_ns = 0;
  int samples = 0, placements = 0;
};
[[nodiscard]] Summary summarise(std::span<const Observation> observations);

enum class Verdict : std::uint8_t { faster, slower, no_difference_shown };
[[nodiscard]] std::string_view name_of(
    Verdict verdict);  // "faster", "slower", "no difference shown"

/// ratio = median A / median B, below 1 is better for A. A verdict only when the interval
/// excludes 1.
///
/// Of fewer than five independent units (placements, or rounds when there is one placement) the
/// bootstrap cannot make a 95% interval: four units fall on one side by chance in 1 case of 8. The
/// interval is then widened to Student's t interval of the units' logarithms. With a single unit
/// nothing is known of the spread: low and high are NaN. All three are NaN when a side has no
/// samples or its median is not positive.
struct Ratio {
  double ratio = 0, low = 0, high = 0;
  bool paired = false;
  Verdict verdict = Verdict::no_difference_shown;
};
/// Over the (placement, round) pairs that both sides have; unpaired when they share none.
[[nodiscard]] Ratio paired_ratio(std::span<const Observation> a, std::span<const Observation> b);
[[nodiscard]] Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b);

/// Modified z-score on the median absolute deviation above 3.5 (Iglewicz and Hoaglin 1993):
/// flagged, never dropped. Deviations are taken from the median of the sample's own placement,
/// because placements differ in earnest. A time that is not finite is an outlier.
[[nodiscard]] std::vector<bool> outliers(std::span<const Observation> observations);

}  // namespace attnscope::statistics
