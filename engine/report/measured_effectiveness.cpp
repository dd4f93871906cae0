// SPDX-License-Identifier: Apache-2.0
#include "engine/report/measured_effectiveness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "base/sentences.h"
#include "engine/effectiveness/measures.h"
#include "engine/report/number_text.h"
#include "engine/statistics/interval.h"
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

void PrecisionCost::add(const std::string& query, const std::string& document,
                        const Scores& scores) {
  ++pairs_;
  const auto [at, is_new] = queries_[query].emplace(document, scores);
  if (is_new) return;
  at->second.narrow = std::max(at->second.narrow, scores.narrow);
  at->second.exact = std::max(at->second.exact, scores.exact);
}

std::vector<std::string> PrecisionCost::sentences() const {
  if (pairs_ == 0) return {};
  const effectiveness::TrecRun exact = run(&Scores::exact), narrow = run(&Scores::narrow);
  std::vector<std::string> all{fmt::format("{} compared with float32 on {}: {}; {}", precision_,
                                           counted(static_cast<std::size_t>(pairs_), "pair"),
                                           rankings_in_words(exact, narrow), scores_in_words())};
  if (qrels_) all.push_back(effectiveness_in_words(exact, narrow));
  return all;
}

std::string PrecisionCost::scores_in_words() const {
  std::vector<double> apart;
  for (const auto& [query, documents] : queries_) {
    for (const auto& [document, scores] : documents)
      apart.push_back(std::abs(static_cast<double>(scores.narrow - scores.exact)));
  }
  return fmt::format("scores differ by {:.2g} at the median, {:.2g} at most",
                     statistics::median_of(apart), std::ranges::max(apart));
}

std::string PrecisionCost::rankings_in_words(const effectiveness::TrecRun& exact,
                                             const effectiveness::TrecRun& narrow) {
  double overlap = 0, tau = 0;
  std::int64_t queries = 0, same_first = 0;
  for (const auto& [query, documents] : exact.queries) {
    if (documents.size() < 2) continue;
    const std::vector<effectiveness::RankedDocument>& others = narrow.queries.at(query);
    const effectiveness::RankAgreement agreement =
        effectiveness::compare_rankings(documents, others);
    ++queries;
    overlap += agreement.rbo;
    tau += agreement.tau.value_or(1);
    if (documents.front().id == others.front().id) ++same_first;
  }
  if (queries == 0) return "no query has two documents to rank";
  const auto count = static_cast<double>(queries);
  return fmt::format(
      "rankings of {} {} agree by RBO (p = {}) {:.4f} and tau {:.4f}, the first document of {} is "
      "the same",
      queries, queries == 1 ? "query" : "queries", effectiveness::rbo_persistence, overlap / count,
      tau / count, same_first);
}

std::string PrecisionCost::effectiveness_in_words(const effectiveness::TrecRun& exact,
                                                  const effectiveness::TrecRun& narrow) const {
  const auto measured = [&](const effectiveness::TrecRun& run) {
    return effectiveness::evaluate(run, *qrels_, {{.cutoff = 10}}, {});
  };
  const effectiveness::Evaluation of_exact = measured(exact), of_narrow = measured(narrow);
  const std::size_t queries = of_exact.queries.size();
  if (queries == 0) return "none of these queries is judged, so there is no nDCG@10 to compare";
  const auto values = [&](const effectiveness::Evaluation& evaluation) {
    std::vector<double> all;
    all.reserve(queries);
    for (const auto& [query, measures] : evaluation.queries) all.push_back(measures.front());
    return all;
  };
  const statistics::PairedQuestion question;
  const statistics::PairedTests tests =
      statistics::test_paired(values(of_exact), values(of_narrow), question);
  std::string text =
      fmt::format("nDCG@10 of {} judged {}: {:.4f} in {}, {:.4f} in float32, {:+.4f}", queries,
                  queries == 1 ? "query" : "queries", of_narrow.mean(0), precision_,
                  of_exact.mean(0), tests.difference);
  if (tests.interval90) {
    text +=
        fmt::format(" (90%: {:+.4f} to {:+.4f})", tests.interval90->low, tests.interval90->high);
  }
  const char* verdict = tests.equivalent ? "equivalent" : "not shown to be equivalent";
  if (tests.p_equivalence) {
    return text + fmt::format(", {} within ± {} (paired TOST, p = {:.2g})", verdict,
                              question.margin, *tests.p_equivalence);
  }
  if (tests.without_test) {
    return text +
           fmt::format(", {} within ± {} (all differences are equal)", verdict, question.margin);
  }
  return text + ", too few queries to test";
}

effectiveness::TrecRun PrecisionCost::run(float Scores::*score) const {
  effectiveness::TrecRun run;
  for (const auto& [query, documents] : queries_) {
    std::vector<effectiveness::RankedDocument>& ranked = run.queries[query];
    for (const auto& [document, scores] : documents)
      ranked.push_back({.id = document, .score = scores.*score});
    std::ranges::sort(ranked, effectiveness::ranks_before);
  }
  return run;
}

}  // namespace attnscope::report
