#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of rankings as tables: means with the verdicts of the paired tests against a baseline,
// values per query, and where rankings differ from the baseline's, query by query, with the
// documents that moved most and optionally the texts: as a table, and as a file that the window
// opens.
//
//   EffectivenessReport report = evaluate_runs(std::move(runs), qrels, measures, question);
//   print(write_sheet(effectiveness_sheet(report, TableFormat::text), TableFormat::text));
//   print(write_differences(differences_of(report)));

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/effectiveness/measures.h"
#include "engine/report/sheet.h"
#include "engine/statistics/interval.h"

namespace attnscope::report {

struct EffectivenessQuestion {
  effectiveness::EvaluationOptions evaluation{};
  std::optional<std::size_t> baseline{};  // index in the runs
  double margin = 0.02, alpha = 0.05;
  bool bonferroni = false;  // alpha is divided by the number of runs other than the baseline
};

struct EvaluatedRun {
  std::string name;
  effectiveness::TrecRun run;
  effectiveness::Evaluation evaluation{};
  std::vector<statistics::PairedTests> tests{};  // against the baseline, per measure
};

struct EffectivenessReport {
  EffectivenessQuestion question;
  std::vector<effectiveness::Measure> measures;
  std::vector<EvaluatedRun> runs;  // at least one
  std::size_t judged_queries = 0;
  double alpha = 0;                // of each test, after correction
  std::vector<std::string> notes;  // why the runs may not be comparable
};

/// Evaluates named runs; pairs consist of the queries for which both runs have a value, joined by
/// id.
[[nodiscard]] EffectivenessReport evaluate_runs(std::vector<EvaluatedRun> runs,
                                                const effectiveness::Qrels& qrels,
                                                const std::vector<effectiveness::Measure>& measures,
                                                const EffectivenessQuestion& question);

/// "equivalent", "better", "not shown", ...: the verdict of the tests at `alpha`.
[[nodiscard]] std::string verdict_in_words(const statistics::PairedTests& tests, double alpha);

/// One block per measure, one row per run; in formats for people without a baseline, one column per
/// measure.
[[nodiscard]] Sheet effectiveness_sheet(const EffectivenessReport& report, TableFormat format);
/// One block per measure, one row per query, one column per run; the last row is the mean.
[[nodiscard]] Sheet per_query_sheet(const EffectivenessReport& report, TableFormat format);

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
