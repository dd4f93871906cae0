#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where two rankings of one query differ.
//
//   RankAgreement agreement = compare_rankings(full.queries.at("q1"), sparse.queries.at("q1"));
//   agreement.moves.front()   // the document that moved most

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/effectiveness/trec_files.h"

namespace attnscope::effectiveness {

struct RankAgreement {
  /// Rank-biased overlap, extrapolated beyond the lists' ends (Webber, Moffat and Zobel 2010,
  /// equation 32): 1 for the same ranking, 0 for one with no document in common. With p = 0.9 the
  /// first ten ranks have 86% of the weight.
  double rbo = 0;
  /// Kendall's, of the documents that both have; there are no ties, because ranks have none. None
  /// of fewer than two.
  std::optional<double> tau;
  struct Move {
    std::string id;
    std::int64_t from = 0, to = 0;  // ranks from 1; 0: the document is not in that ranking
  };
  /// Documents whose rank is another, those that moved over most discounts first: a move at the
  /// top counts more than one of as many ranks further down. What is not there counts as the rank
  /// behind the last.
  std::vector<Move> moves;
};

inline constexpr double rbo_persistence = 0.9;

/// Both best first.
[[nodiscard]] RankAgreement compare_rankings(const std::vector<RankedDocument>& from,
                                             const std::vector<RankedDocument>& to,
                                             double persistence = rbo_persistence);

}  // namespace attnscope::effectiveness
