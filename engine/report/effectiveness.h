#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of rankings as tables: means with the verdicts of the paired tests against a baseline,
// and values per query (differences.h: where rankings differ).
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
}  // namespace attnscope::report
