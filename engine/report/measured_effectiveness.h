#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a run's contenders are worth, measured with it (docs/effectiveness.md): means, and the
// paired tests against the baseline that its sweep named; and the figure that sets them against
// time.
//
//   const RunEffectiveness effectiveness(run);
//   if (const auto own = effectiveness.of("sparse/segment/4")) say(in_words(*own));

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/effectiveness/measured_runs.h"
#include "engine/report/figure.h"
#include "engine/report/published.h"
#include "engine/statistics/paired_tests.h"
#include "engine/store/store.h"

namespace attnscope::report {

/// What stands beside every one of these numbers, as published_label beside the papers'.
inline constexpr std::string_view measured_label = "measured here";

struct MeasuredEffectiveness {
  std::string measure;  // "nDCG@10"
  double mean = 0;
  std::int64_t queries = 0;  // judged ones that it has a value for
  std::string run, qrels;    // names of their files
  std::string baseline;      // a contender's id; empty: the sweep has none
  bool is_baseline = false;  // its run is the baseline's, be it another implementation's
  double margin = 0, alpha = 0;
  std::optional<statistics::PairedTests> tests{};  // against the baseline, unless it is it
  /// Of what is marked so: the baseline itself, and what the test says is like it.
  [[nodiscard]] bool is_equivalent() const { return is_baseline || (tests && tests->equivalent); }
};

class RunEffectiveness {
 public:
  explicit RunEffectiveness(const RunInfo& run);
  /// Nothing of a contender without a run, or of one without a judged query.
  [[nodiscard]] std::optional<MeasuredEffectiveness> of(std::string_view contender) const;

 private:
  std::optional<effectiveness::MeasuredRuns> runs_;
};

/// "nDCG@10 0.683 over 43 queries of qrels.txt (measured here; ...)", without a stop: of what, and
/// what the tests say of it against `baseline`, as a reader calls that.
[[nodiscard]] std::string in_words(const MeasuredEffectiveness& own, std::string_view baseline);
/// "difference -0.0031, 90 % interval -0.0102 to +0.0040, p = 0.0012".
[[nodiscard]] std::string test_in_words(const statistics::PairedTests& tests);

/// A contender's place in the plane of time and effectiveness.
struct TimedEffectiveness {
  std::string name, contender;  // id
  double time_ns = 0;
  std::string remark{};  // of its time: "≈ interpolated"
  std::int64_t cell = -1;
  std::optional<MeasuredEffectiveness> measured{};
  std::optional<PublishedNdcg> published{};  // looked at where none was measured
};
/// Time along x, the measure along y; † marks what is equivalent to the baseline, "publ." what was
/// not measured where others were. The front has what nothing else beats in both; of measured
/// values, or where there are none of published ones: the two are of different collections.
/// `of`: what a time is of, "per document".
[[nodiscard]] Figure effectiveness_figure(const std::vector<TimedEffectiveness>& contenders,
                                          std::string_view of);

/// Of y, in which a difference of 0.01 is seen, and seen as small: of all panels together. Nothing
/// without a point.
struct ReadableRange {
  double low = 0, high = 0;
};
[[nodiscard]] std::optional<ReadableRange> readable_range(std::span<const Figure> figures);

}  // namespace attnscope::report
