// SPDX-License-Identifier: Apache-2.0
#include "engine/report/measured_effectiveness.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "engine/report/advice.h"
#include "engine/report/answer.h"
#include "engine/report/pivot.h"
#include "engine/report/run_figures.h"
#include "engine/sweep/run_plan.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using effectiveness::MeasuredRuns;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr int query_count = 40;

MeasuredRuns::Run made_up_run(const std::string& name, const std::string& contender, double shift,
                              int offset) {
  MeasuredRuns::Run run{
      .file = "/runs/" + name, .sum = "0", .contenders = {contender}, .values = {}};
  for (int query = 0; query < query_count; ++query)
    run.values.push_back(0.5 + shift + 0.001 * ((query + offset) % 7));
  return run;
}

/// w = 64 equals full attention, w = 4 is far below it.
MeasuredRuns runs_of() {
  MeasuredRuns runs{.question = {.baseline = "full/dense"},
                    .folder = "/sweeps",
                    .qrels = "/runs/qrels.txt",
                    .qrels_sum = "0"};
  for (int query = 0; query < query_count; ++query)
    runs.queries.push_back(fmt::format("{:02}", query));
  runs.runs = {made_up_run("full.trec", {"full/dense"}, 0, 0),
               made_up_run("s64.trec", {"sparse/segment/64"}, -0.001, 3),
               made_up_run("s4.trec", {"sparse/segment/4"}, -0.1, 5)};
  return runs;
}

class MeasuredEffectivenessTest : public ::testing::Test {
 protected:
  /// The table at 64 tokens of a run with these stored values.
  [[nodiscard]] Table table_with(const MeasuredRuns& runs) const {
    RunInfo info = run_.info();
    info.start.provenance = nlohmann::json{{stored_runs_key, effectiveness::to_json(runs)}}.dump();
    auto table =
        make_table(run_.store(), info, "full/dense", test::filter_of("sequence_tokens=64"));
    if (!table) throw std::runtime_error(table.error().message);
    return *table;
  }
  [[nodiscard]] static Advice answer_of(const Table& table) {
    return make_advice(table, {.documents = DocumentLengths(64), .of_sequences = true}).at(0);
  }
  [[nodiscard]] static const Advised& of(const Advice& answer, std::string_view contender) {
    return *std::ranges::find(answer.contenders, contender, &Advised::contender);
  }
  [[nodiscard]] static std::string written(const Advice& answer, TableFormat format) {
    return write_advice(answer.run, std::span(&answer, 1), format);
  }

  test::MeasuredRun run_;
};

TEST_F(MeasuredEffectivenessTest, MeasuredValuesReplacePublishedOnes) {
  const Advice answer = answer_of(table_with(runs_of()));
  const MeasuredEffectiveness same = of(answer, "sparse/segment/64").measured.value();
  EXPECT_EQ(same.queries, query_count);
  EXPECT_NEAR(same.mean, 0.502, 1e-3);
  EXPECT_TRUE(same.is_equivalent());
  EXPECT_LT(*same.tests->p_equivalence, 1e-6);
  EXPECT_FALSE(of(answer, "sparse/segment/64").published.has_value());
  EXPECT_THAT(of(answer, "sparse/segment/64").remarks,
              Contains(AllOf(HasSubstr("nDCG@10 0.50"), HasSubstr("measured here; equivalent"),
                             HasSubstr("to full attention within 0.02"), HasSubstr("p < "))));
  const MeasuredEffectiveness below = of(answer, "sparse/segment/4").measured.value();
  EXPECT_FALSE(below.is_equivalent());
  EXPECT_NEAR(below.tests->difference, -0.1, 0.01);
  EXPECT_TRUE(of(answer, "full/dense").measured->is_baseline);
  const Advised& mask = of(answer, "sparse/sdpa-mask/4");
  EXPECT_FALSE(mask.measured.has_value());
  ASSERT_TRUE(mask.published.has_value());
  EXPECT_THAT(mask.remarks, Contains(HasSubstr(std::string(published_label))));
}

TEST_F(MeasuredEffectivenessTest, NamesTheFastestEquivalentContender) {
  const Table table = table_with(runs_of());
  const Headline headline = headline_of(make_answers(table, XAxis::length).at(0));
  EXPECT_THAT(headline.sentence,
              StartsWith("Fastest that is equivalent to Full/dense in nDCG@10 within 0.02 "
                         "(measured here): Sparse, fused, w = 64 at 64 tokens ("));
  EXPECT_THAT(headline.of_all,
              AllOf(StartsWith("Fastest of all: Sparse, fused, w = 4 at 64 tokens ("),
                    HasSubstr("nDCG@10 0.403 against 0.503, not shown to be equivalent")));
  const Advice answer = answer_of(table);
  ASSERT_NE(fastest_equivalent(answer), nullptr);
  EXPECT_EQ(fastest_equivalent(answer)->contender, "sparse/segment/64");
  EXPECT_THAT(answer.notes.front(),
              AllOf(StartsWith("Fastest that is equivalent to Full/dense in nDCG@10 within 0.02 "
                               "(measured here): Sparse, fused, w = 64 ("),
                    HasSubstr("as fast as full attention; difference -0.00"),
                    HasSubstr("90 % interval"), HasSubstr("paired TOST, 40 queries")));
  MeasuredRuns none = runs_of();
  none.runs.erase(none.runs.begin() + 1);
  EXPECT_THAT(answer_of(table_with(none)).notes.front(),
              StartsWith("Nothing faster than Full/dense is shown to be equivalent to Full/dense"));
  none.runs[1].contenders = {"full/dense"};
  none.runs.erase(none.runs.begin());
  none.question.baseline = {};
  EXPECT_THAT(answer_of(table_with(none)).notes.front(),
              StartsWith("Sparse, fused, w = 4 is fastest ("));
}

TEST_F(MeasuredEffectivenessTest, JsonAndCsvDistinguishMeasuredFromPublished) {
  const Advice answer = answer_of(table_with(runs_of()));
  const auto json = nlohmann::json::parse(written(answer, TableFormat::json)).at(0);
  EXPECT_EQ(json.at("fastest_equivalent"), "sparse/segment/64");
  for (const nlohmann::json& contender : json.at("contenders")) {
    const bool is_mask = contender.at("contender") == "sparse/sdpa-mask/4";
    EXPECT_EQ(contender.at("measured").is_null(), is_mask) << contender.dump();
    EXPECT_EQ(contender.at("published").is_null(), !is_mask);
    if (contender.at("contender") != "sparse/segment/64") continue;
    EXPECT_EQ(contender.at("measured").at("equivalent"), true);
    EXPECT_EQ(contender.at("measured").at("run"), "s64.trec");
    EXPECT_EQ(contender.at("measured").at("pairs"), query_count);
  }
  const std::string csv = written(answer, TableFormat::csv);
  EXPECT_THAT(csv, AllOf(HasSubstr("effectiveness_from"), HasSubstr(",measured,nDCG@10,"),
                         HasSubstr(",published,nDCG@10,")));
  EXPECT_THAT(written(answer, TableFormat::markdown),
              AllOf(HasSubstr("†"), HasSubstr("(publ.)"), HasSubstr("measured here by qrels.txt")));
}

TEST_F(MeasuredEffectivenessTest, TablesHaveEffectivenessColumnsOnlyIfMeasured) {
  const std::string with = write_table(table_with(runs_of()), TableFormat::csv);
  EXPECT_THAT(with, AllOf(HasSubstr("effectiveness_measure"), HasSubstr("p_equivalence")));
  EXPECT_THAT(write_table(run_.table(), TableFormat::csv), Not(HasSubstr("effectiveness")));
  const Table table = table_with(runs_of());
  const auto pivot =
      make_pivot(table, {.cells = {Quantity::time, Quantity::effectiveness}}).value();
  EXPECT_THAT(write_pivot(table, pivot, TableFormat::text), HasSubstr("nDCG@10 0.50"));
}

TEST_F(MeasuredEffectivenessTest, FigureMarksParetoFrontAndEquivalence) {
  const Figure figure =
      make_figure(table_with(runs_of()), XAxis::length, YAxis::effectiveness).value();
  ASSERT_EQ(figure.series.size(), 4U);
  EXPECT_THAT(figure.y_label, HasSubstr("nDCG@10 (measured here"));
  EXPECT_EQ(figure.x_label, "ms per document");
  const auto mark_of = [&](std::string_view id) {
    return std::ranges::find(figure.series, id, &Series::style_key)->points.front().mark;
  };
  EXPECT_EQ(mark_of("full/dense"), "†");
  EXPECT_EQ(mark_of("sparse/segment/64"), "†");
  EXPECT_EQ(mark_of("sparse/segment/4"), "");
  EXPECT_THAT(mark_of("sparse/sdpa-mask/4"), HasSubstr("publ."));
  std::vector<double> times;
  for (const Point& point : figure.front) times.push_back(point.x);
  ASSERT_EQ(times.size(), 3U);  // each slower contender is more effective
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_THAT(figure.warning, AllOf(HasSubstr("measured here, by qrels.txt"),
                                    HasSubstr("† equivalent to full/dense within 0.02"),
                                    HasSubstr("published, not measured here")));
  EXPECT_THAT(figure_csv(figure), AllOf(HasSubstr("measured here"), HasSubstr("Pareto front")));
  const auto range = readable_range(std::span(&figure, 1));
  EXPECT_GT(range->low, 0.3);
  EXPECT_LT(range->high, 0.8);
  const Figure of_answer = effectiveness_figure(answer_of(table_with(runs_of())));
  EXPECT_EQ(of_answer.front.size(), 3U);
  EXPECT_EQ(of_answer.x_label, "ms for 100 documents");
}

TEST_F(MeasuredEffectivenessTest, FigureNeedsOneLengthAndShowsPublishedValuesWithoutRuns) {
  EXPECT_THAT(make_figure(run_.table(), XAxis::length, YAxis::effectiveness).error().message,
              HasSubstr("choose with --only sequence_tokens"));
  const Figure published =
      make_figure(run_.table({}, "sequence_tokens=64"), XAxis::length, YAxis::effectiveness)
          .value();
  EXPECT_THAT(published.y_label, HasSubstr(std::string(published_label)));
  const auto sparse = std::ranges::find(published.series, "sparse/segment/4", &Series::style_key);
  EXPECT_EQ(sparse->points.front().mark, "†");  // as the paper tested
  const auto facets =
      make_facets(run_.table(), XAxis::length, {YAxis::effectiveness}, "sequence_tokens");
  ASSERT_TRUE(facets.has_value()) << facets.error().message;
  EXPECT_EQ(facets->panels.size(), 2U);
  EXPECT_THAT(facets->warning, StartsWith("nDCG@10 published, not measured here"));
}

TEST_F(MeasuredEffectivenessTest, ADamagedRunHasNoEffectiveness) {
  RunInfo info = run_.info();
  info.start.provenance =
      nlohmann::json{{stored_runs_key, effectiveness::to_json(runs_of())}}.dump();
  EXPECT_TRUE(RunEffectiveness(info).of("full/dense").has_value());
  info.damaged = true;
  EXPECT_FALSE(RunEffectiveness(info).of("full/dense").has_value());
}

TEST(PrecisionCost, StatesAgreementOfRankingsAndDifferenceOfScores) {
  PrecisionCost cost("int8", {});
  cost.add("q1", "a", {.narrow = 3.0F, .exact = 3.25F});
  cost.add("q1", "b", {.narrow = 2.0F, .exact = 2.0F});
  cost.add("q2", "a", {.narrow = 1.0F, .exact = 2.0F});  // the other way round
  cost.add("q2", "b", {.narrow = 1.5F, .exact = 1.5F});
  cost.add("q3", "a", {.narrow = 1.0F, .exact = 1.0F});  // nothing to rank
  EXPECT_THAT(
      cost.sentences(),
      ElementsAre(
          "int8 compared with float32 on 5 pairs: rankings of 2 queries agree by RBO (p = 0.9) "
          "0.9500 and tau 0.0000, the first document of 1 is the same; scores differ by 0 "
          "at the median, 1 at most"));
}

TEST(PrecisionCost, UsesTheBestPassageOfADocument) {
  PrecisionCost cost("int8", {});
  EXPECT_THAT(cost.sentences(), IsEmpty()) << "there are no pairs";
  cost.add("q", "a", {.narrow = 1.0F, .exact = 1.0F});
  cost.add("q", "a", {.narrow = 3.0F, .exact = 3.0F});
  cost.add("q", "b", {.narrow = 2.0F, .exact = 2.0F});
  EXPECT_EQ(cost.pairs(), 3);
  EXPECT_THAT(cost.sentences(), ElementsAre(HasSubstr("tau 1.0000, the first document of 1")));
}

TEST(PrecisionCost, WithJudgementsTestsTheDifferenceOfNdcg) {
  effectiveness::Qrels qrels;
  for (const char* query : {"q1", "q2", "q3"}) qrels.queries[query]["a"] = 1;
  PrecisionCost cost("int8", qrels);
  for (const char* query : {"q1", "q2", "q3", "unjudged"}) {
    const bool is_reversed = query == std::string("q2");
    cost.add(query, "a", {.narrow = is_reversed ? 0.0F : 2.0F, .exact = 2.0F});
    cost.add(query, "b", {.narrow = 1.0F, .exact = 1.0F});
  }
  // q2's relevant document falls to rank 2: 1 / log2(3) = 0.6309, a third of 0.3691 on the mean.
  EXPECT_THAT(cost.sentences().at(1),
              AllOf(HasSubstr("nDCG@10 of 3 judged queries: 0.8770 in int8, 1.0000 in float32, "
                              "-0.1230 (90%: "),
                    HasSubstr("not shown to be equivalent within ± 0.02 (paired TOST, p = ")));
}

TEST(PrecisionCost, StatesMissingOrTooFewJudgements) {
  effectiveness::Qrels qrels;
  const auto sentences = [&](const std::vector<const char*>& queries) {
    PrecisionCost cost("int8", qrels);
    for (const char* query : queries) cost.add(query, "a", {.narrow = 1.0F, .exact = 1.0F});
    return cost.sentences();
  };
  qrels.queries["q"]["a"] = 1;
  EXPECT_THAT(sentences({"other"}),
              ElementsAre(HasSubstr("on 1 pair: no query has two documents to rank"),
                          HasSubstr("none of these queries is judged")));
  EXPECT_THAT(sentences({"q"}).at(1), HasSubstr("too few queries to test"));
  qrels.queries["p"]["a"] = 1;
  EXPECT_THAT(sentences({"q", "p"}).at(1),
              HasSubstr("equivalent within ± 0.02 (all differences are equal)"));
}

}  // namespace
}  // namespace attnscope::report
