#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The cost of lower-precision products: scores of the same pairs in both precisions, the resulting
// rankings and, with judgements, the effectiveness.
//
//   PrecisionCost cost("int8", std::move(qrels));
//   cost.add("q1", "d7", {.narrow = 2.51F, .exact = 2.5F});  // for every pair
//   for (const std::string& sentence : cost.sentences()) print(sentence);

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/effectiveness/trec_files.h"

namespace attnscope::report {

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
