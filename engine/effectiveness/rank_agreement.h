#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The differences between two rankings of one query.
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
  /// Rank-biased overlap, extrapolated beyond the ends of the lists (Webber, Moffat and Zobel 2010,
  /// equation 32): 1 for equal rankings, 0 for rankings without a common document. With p = 0.9 the
  /// first ten ranks have 86% of the weight.
  double rbo = 0;
  /// Kendall's tau over the documents in both rankings; there are no ties, because ranks are
  /// distinct. Empty for fewer than two documents.
  std::optional<double> tau;
  struct Move {
    std::string id;
    std::int64_t from = 0, to = 0;  // ranks from 1; 0: the document is not in that ranking
  };
  /// Documents whose rank changed, sorted by the change of their discount, largest first: a move at
  /// the top counts more than one by as many ranks further down. A missing document counts as
  /// ranked one after the last.
  std::vector<Move> moves;
};

inline constexpr double rbo_persistence = 0.9;

/// Precondition: both rankings are sorted best first.
[[nodiscard]] RankAgreement compare_rankings(const std::vector<RankedDocument>& from,
                                             const std::vector<RankedDocument>& to,
                                             double persistence = rbo_persistence);

}  // namespace attnscope::effectiveness
