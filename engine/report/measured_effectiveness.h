#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Effectiveness that was measured here: of a run's contenders, and of lower-precision products.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/effectiveness/measured_runs.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/statistics/interval.h"
#include "engine/store/store.h"

namespace attnscope::report {

// The effectiveness of a run's contenders, measured with it (docs/effectiveness.md): means, the
// paired tests against the baseline named by the sweep.
//
//   const RunEffectiveness effectiveness(run);
//   if (const auto own = effectiveness.of("sparse/segment/4")) print(in_words(*own, baseline));

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

// The cost of lower-precision products: scores of the same pairs in both precisions, the resulting
// rankings and, with judgements, the effectiveness.
//
//   PrecisionCost cost("int8", std::move(qrels));
//   cost.add("q1", "d7", {.narrow = 2.51F, .exact = 2.5F});  // for every pair
//   for (const std::string& sentence : cost.sentences()) print(sentence);

class PrecisionCost {
 public:
  PrecisionCost(std::string precision, std::optional<effectiveness::Qrels> qrels)
      : precision_(std::move(precision)), qrels_(std::move(qrels)) {}

  struct Scores {
    float narrow = 0, exact = 0;
  };
  /// Adds one pair; if a document repeats for a query (its passages), the best score counts.
  void add(const std::string& query, const std::string& document, const Scores& scores);
  [[nodiscard]] std::int64_t pairs() const { return pairs_; }

  /// The differences of the scores and the agreement of the rankings (rank-biased overlap with p =
  /// 0.9, Kendall's tau, means over the queries with at least two documents); with judgements also
  /// nDCG@10 of both, their difference with its 90% interval, and the paired TOST within 0.02.
  [[nodiscard]] std::vector<std::string> sentences() const;

 private:
  [[nodiscard]] std::string scores_in_words() const;
  [[nodiscard]] static std::string rankings_in_words(const effectiveness::TrecRun& exact,
                                                     const effectiveness::TrecRun& narrow);
  [[nodiscard]] std::string effectiveness_in_words(const effectiveness::TrecRun& exact,
                                                   const effectiveness::TrecRun& narrow) const;
  [[nodiscard]] effectiveness::TrecRun run(float Scores::*score) const;

  std::string precision_;
  std::optional<effectiveness::Qrels> qrels_;
  std::map<std::string, std::map<std::string, Scores>> queries_;
  std::int64_t pairs_ = 0;
};

}  // namespace attnscope::report
