// SPDX-License-Identifier: Apache-2.0
#include "engine/report/measured_effectiveness.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <utility>

#include "base/sentences.h"
#include "engine/report/number_text.h"
#include "engine/sweep/run_plan.h"

namespace attnscope::report {
namespace {

using effectiveness::MeasuredRuns;

std::string name_of_file(const std::string& path) {
  return in_a_sentence(std::filesystem::path(path).filename().string());
}

statistics::PairedTests paired(const MeasuredRuns::Run& baseline, const MeasuredRuns::Run& own,
                               const effectiveness::RunsQuestion& question) {
  std::vector<double> reference, system;
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    if (std::isnan(own.values[i]) || std::isnan(baseline.values[i])) continue;
    reference.push_back(baseline.values[i]);
    system.push_back(own.values[i]);
  }
  return statistics::test_paired(reference, system,
                                 {.margin = question.margin, .alpha = question.alpha});
}

std::string p_in_words(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.4f}", p);
}

}  // namespace

RunEffectiveness::RunEffectiveness(const RunInfo& run) : runs_(stored_runs(run)) {}

std::optional<MeasuredEffectiveness> RunEffectiveness::of(std::string_view contender) const {
  const MeasuredRuns::Run* const own = runs_ ? runs_->find(contender) : nullptr;
  if (own == nullptr) return std::nullopt;
  const effectiveness::RunsQuestion& question = runs_->question;
  MeasuredEffectiveness measured{.measure = question.measure.name(),
                                 .run = name_of_file(own->file),
                                 .qrels = name_of_file(runs_->qrels),
                                 .baseline = question.baseline,
                                 .margin = question.margin,
                                 .alpha = question.alpha};
  double sum = 0;
  for (const double value : own->values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++measured.queries;
  }
  if (measured.queries == 0) return std::nullopt;
  measured.mean = sum / static_cast<double>(measured.queries);
  const MeasuredRuns::Run* const baseline = runs_->find(question.baseline);
  measured.is_baseline = baseline == own;
  if (baseline != nullptr && baseline != own) measured.tests = paired(*baseline, *own, question);
  return measured;
}

std::string test_in_words(const statistics::PairedTests& tests) {
  std::string text = fmt::format("difference {:+.4f}", tests.difference);
  if (tests.interval90) {
    text += fmt::format(", 90 % interval {:+.4f} to {:+.4f}", tests.interval90->low,
                        tests.interval90->high);
  }
  return text + (tests.p_equivalence
                     ? ", " + p_in_words(*tests.p_equivalence)
                     : std::string(", all differences equal, so there is no p-value"));
}

std::string in_words(const MeasuredEffectiveness& own, std::string_view baseline) {
  std::string text =
      fmt::format("{} {:.4f} over {} {} of {} ({}", own.measure, own.mean, own.queries,
                  own.queries == 1 ? "query" : "queries", own.qrels, measured_label);
  if (own.is_baseline) text += ", the baseline of the tests";
  if (own.tests) {
    text += fmt::format("; {} to {} within {}: {}",
                        own.is_equivalent() ? "equivalent" : "not shown to be equivalent", baseline,
                        own.margin, test_in_words(*own.tests));
  }
  return text + ")";
}

}  // namespace attnscope::report
