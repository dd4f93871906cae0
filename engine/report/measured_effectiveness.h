#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The effectiveness of a run's contenders, measured with it (docs/effectiveness.md): means, the
// paired tests against the baseline named by the sweep.
//
//   const RunEffectiveness effectiveness(run);
//   if (const auto own = effectiveness.of("sparse/segment/4")) print(in_words(*own, baseline));

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/effectiveness/measured_runs.h"
#include "engine/statistics/paired_tests.h"
#include "engine/store/store.h"

namespace attnscope::report {

/// The label next to each of these numbers, as published_label for the papers' numbers.
inline constexpr std::string_view measured_label = "measured here";

struct MeasuredEffectiveness {
  std::string measure;  // "nDCG@10"
  double mean = 0;
  std::int64_t queries = 0;  // judged queries with a value
  std::string run, qrels;    // file names
  std::string baseline;      // a contender's id; empty: the sweep has no baseline
  bool is_baseline = false;  // its run is the baseline's, possibly with another implementation
  double margin = 0, alpha = 0;
  std::optional<statistics::PairedTests> tests{};  // against the baseline; empty for the baseline
  /// Whether it is marked as equivalent: the baseline, and contenders that the test shows to be
  /// equivalent to it.
  [[nodiscard]] bool is_equivalent() const { return is_baseline || (tests && tests->equivalent); }
};

class RunEffectiveness {
 public:
  explicit RunEffectiveness(const RunInfo& run);
  /// Empty for a contender without a run or without a judged query.
  [[nodiscard]] std::optional<MeasuredEffectiveness> of(std::string_view contender) const;

 private:
  std::optional<effectiveness::MeasuredRuns> runs_;
};

/// "nDCG@10 0.683 over 43 queries of qrels.txt (measured here; ...)", without a full stop: the
/// data, and the result of the tests against `baseline`, which is the name shown to the reader.
[[nodiscard]] std::string in_words(const MeasuredEffectiveness& own, std::string_view baseline);
/// "difference -0.0031, 90 % interval -0.0102 to +0.0040, p = 0.0012".
[[nodiscard]] std::string test_in_words(const statistics::PairedTests& tests);

}  // namespace attnscope::report
