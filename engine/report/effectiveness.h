#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rankings evaluated, as tables: means with what the paired tests say against a baseline, and
// values query by query (differences.h: where rankings differ).
//
//   EffectivenessReport report = evaluate_runs(std::move(runs), qrels, measures, question);
//   print(write_sheet(effectiveness_sheet(report, TableFormat::text), TableFormat::text));

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/effectiveness/measures.h"
#include "engine/report/sheet.h"
#include "engine/statistics/paired_tests.h"

namespace attnscope::report {

struct EffectivenessQuestion {
  effectiveness::EvaluationOptions evaluation{};
  std::optional<std::size_t> baseline{};  // of the runs
  double margin = 0.02, alpha = 0.05;
  bool bonferroni = false;  // alpha is divided by the number of runs beside the baseline
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
  double alpha = 0;                // of each test, corrected
  std::vector<std::string> notes;  // what stands in the way of comparing them
};

/// Of runs with names; pairs are of the queries that both have a value for, joined by their ids.
[[nodiscard]] EffectivenessReport evaluate_runs(std::vector<EvaluatedRun> runs,
                                                const effectiveness::Qrels& qrels,
                                                const std::vector<effectiveness::Measure>& measures,
                                                const EffectivenessQuestion& question);

/// "equivalent", "better", "not shown", ...: what the tests say at `alpha`.
[[nodiscard]] std::string verdict_in_words(const statistics::PairedTests& tests, double alpha);

/// A block a measure, a row a run; for people without a baseline a column a measure.
[[nodiscard]] Sheet effectiveness_sheet(const EffectivenessReport& report, TableFormat format);
/// A block a measure, a row a query, a column a run; the last row is the mean.
[[nodiscard]] Sheet per_query_sheet(const EffectivenessReport& report, TableFormat format);
}  // namespace attnscope::report
