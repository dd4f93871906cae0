#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where rankings differ from a baseline's, query by query, with the documents that moved most and
// optionally the texts: as a table, and as a file that the window opens.
//
//   std::vector<RankingDifference> differences = differences_of(report);
//   print(write_differences(differences));

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/report/effectiveness.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

struct MovedDocument {
  std::string id;
  std::int64_t from = 0, to = 0;  // ranks from 1; 0: the document is not in that ranking
  std::string text = {};          // empty: not given
};

/// The difference for one query in one run.
struct RankingDifference {
  std::string run, query;
  std::string text = {};  // the query's; empty: not given
  double rbo = 0;
  std::optional<double> tau = {};
  std::optional<double> change = {};  // of the first measure; empty for a query without judgements
  std::vector<MovedDocument> moved;   // at most five
};

/// Run by run in the report's order; within each, the queries with the lowest overlap first.
[[nodiscard]] std::vector<RankingDifference> differences_of(const EffectivenessReport& report);
/// One block per run other than the baseline, one row per query that both rank.
[[nodiscard]] Sheet differences_sheet(const EffectivenessReport& report,
                                      const std::vector<RankingDifference>& differences,
                                      TableFormat format);

/// A JSON array with one object per query.
[[nodiscard]] std::string write_differences(const std::vector<RankingDifference>& differences);
/// Parses the output of write_differences. Errors name `source` and the field.
[[nodiscard]] Result<std::vector<RankingDifference>> parse_differences(std::string_view json,
                                                                       std::string_view source);

/// "3>17", "none>4".
[[nodiscard]] std::string ranks_in_words(const MovedDocument& moved);

}  // namespace attnscope::report
