// SPDX-License-Identifier: Apache-2.0
//
// Answers on synthetic runs: crossovers, the longest length that fits, rankings.

#include "engine/report/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "engine/report/advice.h"
#include "engine/report/run_figures.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;

using test::filter_of;
using test::MeasuredRun;
using test::point_at;
using test::timed_cell;
using ::testing::HasSubstr;

Row answer_row(const Cell& cell, std::int64_t tokens) {
  Row row;
  row.cell.cell = cell;
  row.cell.point = point_at(tokens);
  row.cell.heat_number = tokens;
  row.cell.summary = statistics::summarise(per_item(row.cell));
  row.cell.summary.median_ns *= static_cast<double>(cell.batch);
  return row;
}

Row timed(const std::string& implementation, std::int64_t tokens, double ms) {
  Cell cell = timed_cell("full", implementation, std::nullopt, "Full, " + implementation, ms);
  cell.batch = 1;
  return answer_row(cell, tokens);
}

Row without_time(const std::string& implementation, std::int64_t tokens, CellStatus status,
                 const std::string& reason) {
  Row row = timed(implementation, tokens, 1);
  row.cell.cell.samples.clear();
  row.cell.cell.status = status;
  row.cell.cell.reason = reason;
  row.cell.summary = {};
  return row;
}

/// "a" takes times(tokens) ms where "b" takes 1 ms; their spread is 1%.
Table table_of(const std::vector<std::int64_t>& lengths,
               const std::function<double(double)>& times) {
  Table table{.run = {}, .rows = {}, .baseline = "full/b"};
  for (const std::int64_t tokens : lengths) {
    Row a = timed("a", tokens, times(static_cast<double>(tokens)));
    Row b = timed("b", tokens, 1);
    a.ratio = ratio_between(a, b);
    b.ratio = ratio_between(b, b);
    table.rows.push_back(a);
    table.rows.push_back(b);
  }
  return table;
}

std::string crossover_sentence(const std::vector<std::int64_t>& lengths,
                               const std::function<double(double)>& times) {
  const std::vector<Answer> answers = make_answers(table_of(lengths, times), XAxis::length);
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.front().crossovers.size(), 1U);
  return answers.front().crossovers.front().sentence;
}

TEST(Answers, ImplausibleTimesAreNeverTheFastest) {
  Table table = table_of({128}, [](double) { return 0.1; });
  table.rows[0].share_of_limit = 72.7;
  const std::vector<Answer> answers = make_answers(table, XAxis::length);
  const std::vector<Ranked>& ranked = answers.at(0).rankings.at(0).contenders;
  ASSERT_EQ(ranked.size(), 2U);
  EXPECT_EQ(ranked[0].row.cell.cell.contender.implementation, "b");
  EXPECT_FALSE(ranked[1].to_fastest);
  EXPECT_EQ(ranked[1].row.cell.cell.status, CellStatus::wrong);
  EXPECT_THAT(ranked[1].row.cell.cell.reason,
              HasSubstr("its time is implausible: 7270 % of the limit"));
}

const std::vector<std::int64_t> doubling_lengths{64, 128, 256, 512, 1024};

TEST(CrossoverAnswer, NamesTheLengthOfAnOvertake) {
  const std::string sentence =
      crossover_sentence(doubling_lengths, [](double n) { return 181 / n; });
  EXPECT_THAT(sentence, HasSubstr("Full, a overtakes Full, b at about 181 tokens (95 %: 1"));
  EXPECT_THAT(sentence, HasSubstr("slower before, faster after."));
}

TEST(CrossoverAnswer, NamesTheLengthWhereItFallsBehind) {
  EXPECT_THAT(crossover_sentence(doubling_lengths, [](double n) { return n / 300; }),
              HasSubstr("Full, a falls behind Full, b at about 300 tokens (95 %: "));
}

TEST(CrossoverAnswer, NamesOneVerdictEverywhere) {
  EXPECT_EQ(crossover_sentence(doubling_lengths, [](double) { return 0.5; }),
            "Full, a is faster than Full, b at every measured length (64 to 1024 tokens).");
  EXPECT_EQ(crossover_sentence(doubling_lengths, [](double) { return 2; }),
            "Full, a is slower than Full, b at every measured length (64 to 1024 tokens).");
  EXPECT_EQ(crossover_sentence(doubling_lengths, [](double) { return 1; }),
            "No difference between Full, a and Full, b is shown at any measured length (64 to 1024 "
            "tokens).");
  EXPECT_EQ(crossover_sentence({64}, [](double) { return 2; }),
            "Full, a is slower than Full, b at 64 tokens.");
}

TEST(CrossoverAnswer, NamesLengthsWithoutAVerdict) {
  EXPECT_EQ(crossover_sentence(doubling_lengths, [](double n) { return n < 200 ? 1.3 : 1; }),
            "Full, a is slower than Full, b at 64 to 128 tokens; not distinguishable at 256 to "
            "1024 tokens; no crossover can be given.");
}

TEST(CrossoverAnswer, LengthsFarApart_GiveOnlyTheRange) {
  EXPECT_THAT(crossover_sentence({64, 4096}, [](double n) { return n < 100 ? 2 : 0.5; }),
              HasSubstr("overtakes Full, b somewhere between 64 and 4096 tokens:"));
}

TEST(CrossoverAnswer, NamesSeveralCrossings) {
  EXPECT_THAT(crossover_sentence(doubling_lengths, [](double n) { return n == 256 ? 0.5 : 1.5; }),
              HasSubstr("cross more than once: Full, a overtakes at about "));
}

TEST(CrossoverAnswer, WithoutACommonLength_HasASentence) {
  Table table = table_of({64}, [](double) { return 1; });
  for (Row& row : table.rows) row.ratio.reset();
  EXPECT_EQ(make_answers(table, XAxis::length).at(0).crossovers.at(0).sentence,
            "Full, a and Full, b have no length at which both were measured.");
}

FitAnswer fit_of(const std::vector<Row>& rows, std::optional<double> available = std::nullopt) {
  std::vector<const Row*> pointers;
  for (const Row& row : rows) pointers.push_back(&row);
  const std::vector<FitAnswer> fits = find_fits(pointers, available);
  EXPECT_EQ(fits.size(), 1U);
  return fits.front();
}

/// A quadratic contender: 100 bytes per pair of tokens, and tensors of 1000 bytes per token.
Row quadratic(std::int64_t tokens) {
  Row row = timed("a", tokens, 1);
  row.cell.cell.memory.requested_bytes = 100 * tokens * tokens;
  row.cell.cell.work.least_bytes = 1000.0 * static_cast<double>(tokens);
  return row;
}

TEST(FitAnswer, NamesTheLongestAndTheFirstThatDoesNotFit) {
  const FitAnswer fit =
      fit_of({quadratic(512), quadratic(1024),
              without_time("a", 2048, CellStatus::oom, "it asks for 12 GB, 8 GB are free."),
              without_time("a", 4096, CellStatus::oom, "it asks for 48 GB, 8 GB are free.")});
  EXPECT_EQ(fit.longest, 1024);
  EXPECT_EQ(fit.next, 2048);
  EXPECT_EQ(
      fit.sentence,
      "Full, a fits 1024 tokens, not 2048 (oom: it asks for 12 GB, 8 GB are free); 105 MB per "
      "document at that length.");
}

TEST(FitAnswer, IgnoresAShorterLengthWithoutATime) {
  const FitAnswer fit =
      fit_of({quadratic(64), without_time("a", 128, CellStatus::oom, "just then"), quadratic(256)});
  EXPECT_EQ(fit.longest, 256);
  EXPECT_FALSE(fit.next);
  EXPECT_THAT(fit.sentence, HasSubstr("fits 256 tokens, the longest measured"));
}

TEST(FitAnswer, PredictsFromTheGrowthOfMemory) {
  // 100 n^2 + 1000 n = 1 GB at n = 3157.
  const FitAnswer fit = fit_of({quadratic(512), quadratic(1024)}, 1e9);
  EXPECT_EQ(fit.predicted, 3100);
  EXPECT_FALSE(fit.predicted_is_least);
  EXPECT_THAT(fit.sentence,
              HasSubstr("predicted from the growth of its memory: up to about 3100 tokens."));
  // It never contradicts what was measured.
  const FitAnswer refuted = fit_of(
      {quadratic(512), quadratic(1024), without_time("a", 2048, CellStatus::oom, "full")}, 1e9);
  EXPECT_FALSE(refuted.predicted);
  EXPECT_EQ(fit_of({quadratic(512), quadratic(1024)}, 1e6).predicted, 1024);
}

TEST(FitAnswer, APredictionFarBeyondMeasuredLengths_IsALowerBound) {
  const FitAnswer fit = fit_of({quadratic(512), quadratic(1024)}, 1e15);
  EXPECT_TRUE(fit.predicted_is_least);
  EXPECT_THAT(fit.sentence, HasSubstr("more than 16384 tokens"));
  EXPECT_FALSE(fit_of({quadratic(512)}, 1e15).predicted);  // one length shows no growth
}

TEST(FitAnswer, AContenderWithoutATime_HasItsReason) {
  const FitAnswer fit =
      fit_of({without_time("a", 64, CellStatus::unsupported, "it knows only full attention.")});
  EXPECT_FALSE(fit.longest);
  EXPECT_EQ(fit.sentence,
            "Full, a has no time at any measured length (unsupported: it knows only full "
            "attention).");
}

TEST(FitAnswer, ADamagedCell_FitsNothing) {
  std::vector<Row> rows{quadratic(64), quadratic(128)};
  rows.back().cell.damaged = true;
  EXPECT_EQ(fit_of(rows).longest, 64);
}

TEST(Ranking, SortsByTimeAndNamesTheFastest) {
  const MeasuredRun run;
  const auto table = make_answer_table(run.store(), run.info(), std::nullopt, {}, XAxis::length);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->baseline, "full/dense");  // the first of the sweep
  const std::vector<Answer> answers = make_answers(*table, XAxis::length);
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_EQ(answers.front().rankings.size(), 2U);
  const Ranking& at_256 = answers.front().rankings.back();
  EXPECT_EQ(at_256.place, "256 tokens");
  std::vector<std::string> order;
  for (const Ranked& one : at_256.contenders) order.push_back(one.row.cell.cell.contender.id());
  EXPECT_EQ(order, (std::vector<std::string>{"sparse/segment/4", "sparse/segment/64", "full/dense",
                                             "sparse/sdpa-mask/4"}));
  EXPECT_NEAR(at_256.contenders[1].to_fastest->ratio, 1.5, 0.01);
  EXPECT_FALSE(at_256.contenders[3].to_fastest);
  const std::string text = write_answers(table->run, answers);
  EXPECT_THAT(text, HasSubstr("256 tokens: Sparse, fused, w = 4 is fastest."));
  EXPECT_THAT(text, HasSubstr("Sparse, fused, w = 4 is faster than Full/dense at every measured "));
  EXPECT_THAT(text, HasSubstr("sparse/sdpa-mask, w = 4 fits 64 tokens, not 256 (oom: it asks"));
  EXPECT_THAT(text, HasSubstr("kernels, \"cpu\""));  // the run's name
}

TEST(Ranking, NamesContendersNotDistinguishableFromTheFastest) {
  const std::vector<Answer> answers =
      make_answers(table_of({64}, [](double) { return 1; }), XAxis::length);
  EXPECT_THAT(
      write_answers({}, answers),
      HasSubstr("no clear winner; lowest median: Full, a, not distinguishable from Full, b."));
}

/// The answer as text and as a table if the second contender's ratio to the fastest has this
/// interval.
std::string second_with_interval(double low, double high, statistics::Verdict verdict) {
  std::vector<Answer> answers =
      make_answers(table_of({64}, [](double) { return 2; }), XAxis::length);
  Ranking& ranking = answers.front().rankings.front();
  ranking.leaders.of_all->runner_up = ranking.contenders.back().to_fastest =
      statistics::Ratio{.ratio = 2, .low = low, .high = high, .paired = true, .verdict = verdict};
  return write_answers({}, answers) + write_answers({}, answers, TableFormat::markdown);
}

TEST(Ranking, HasANumberOnlyIfADifferenceIsShown) {
  using enum statistics::Verdict;
  EXPECT_THAT(second_with_interval(1.9, 2.1, slower), HasSubstr("2.00x"));
  for (const auto& [text, say] :
       {std::pair(second_with_interval(0.9, 2.5, no_difference_shown), "not distinguishable from"),
        std::pair(second_with_interval(0.001, 3e6, no_difference_shown),
                  "too few samples to compare it with")}) {
    EXPECT_THAT(text, HasSubstr(say));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("2.00x")));
  }
}

TEST(AnswerTable, FiltersRowsAndKeepsTheBaseline) {
  const MeasuredRun run;
  const auto table = make_answer_table(run.store(), run.info(), "full/dense",
                                       filter_of("implementation=segment"), XAxis::length);
  ASSERT_TRUE(table) << table.error().message;
  const std::vector<Answer> answers = make_answers(*table, XAxis::length);
  ASSERT_EQ(answers.front().crossovers.size(), 2U);
  EXPECT_THAT(answers.front().crossovers.front().sentence, HasSubstr("full/dense"));
  EXPECT_FALSE(make_answer_table(run.store(), run.info(), "full/nothing", {}, XAxis::length));
}

TEST(AnswerAlongWindows, ComparesEveryWindowWithABaselineWithoutWindow) {
  const MeasuredRun run;
  const auto table = make_answer_table(run.store(), run.info(), "full/dense", {}, XAxis::window);
  ASSERT_TRUE(table) << table.error().message;
  const std::vector<Answer> answers = make_answers(*table, XAxis::window);
  ASSERT_EQ(answers.size(), 2U);  // one a length
  EXPECT_EQ(answers.front().setting, "64 tokens");
  EXPECT_EQ(answers.front().rankings.front().place, "w = 4");
  EXPECT_EQ(answers.front().rankings.front().contenders.size(), 3U);
  EXPECT_THAT(answers.front().crossovers.front().sentence,
              HasSubstr("is faster than Full/dense at every measured window (w = 4 to 64)."));
  EXPECT_TRUE(answers.front().fits.empty());
}

TEST(AnswerAlongWindows, ComparesEachWindowWithTheBaselinesSameWindow) {
  const MeasuredRun run;
  const auto table =
      make_answer_table(run.store(), run.info(), "sparse/segment", {}, XAxis::window);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->baseline, "sparse/segment");
  const Row& twin = test::row_of(*table, "sparse/segment/64", 64);
  EXPECT_EQ(twin.ratio->ratio, 1);
  EXPECT_NEAR(test::row_of(*table, "sparse/sdpa-mask/4", 64).ratio->ratio, 4, 0.01);
  EXPECT_FALSE(test::row_of(*table, "full/dense", 64).ratio);
  const std::vector<Answer> answers = make_answers(*table, XAxis::window);
  EXPECT_EQ(answers.front().crossovers.at(0).sentence,
            "sparse/sdpa-mask is slower than Sparse, fused at w = 4.");
}

TEST(CrossoverMarks, AreAtTheLengthOfTheAnswersCrossing) {
  const Table table = table_of(doubling_lengths, [](double n) { return 181 / n; });
  auto figure = make_figure(table, XAxis::length, YAxis::time);
  ASSERT_TRUE(figure) << figure.error().message;
  EXPECT_TRUE(figure->marks.empty());
  mark_crossovers(*figure, table, XAxis::length, YAxis::time);
  ASSERT_EQ(figure->marks.size(), 1U);
  EXPECT_NEAR(figure->marks[0].x, 181, 1);
  EXPECT_EQ(figure->marks[0].text, "from 181 tokens");
  EXPECT_EQ(figure->marks[0].style_key, "full/a");
}

TEST(AnswerJson, HasTheNumbersOfTheText) {
  Table table = table_of(doubling_lengths, [](double n) { return 181 / n; });
  const auto json = nlohmann::json::parse(
      write_answers({}, make_answers(table, XAxis::length), TableFormat::json));
  EXPECT_EQ(json.at("x"), "length");
  EXPECT_EQ(json.at("baseline"), "full/b");
  const auto& setting = json.at("settings").at(0);
  const auto& crossing = setting.at("crossovers").at(0).at("crossings").at(0);
  EXPECT_TRUE(crossing.at("overtakes"));
  EXPECT_NEAR(crossing.at("at").get<double>(), 181, 1);
  EXPECT_LT(crossing.at("low").get<double>(), 181);
  EXPECT_EQ(crossing.at("after"), 128);
  EXPECT_EQ(setting.at("rankings").size(), doubling_lengths.size());
  EXPECT_EQ(setting.at("rankings").at(0).at("contenders").at(0).at("contender"), "full/b");
  EXPECT_EQ(setting.at("longest_that_fits").at(0).at("longest_tokens"), 1024);
}

TEST(Answer, ForARunWithoutHeats_HasASentence) {
  const std::vector<Answer> answers = make_answers(Table{}, XAxis::length);
  EXPECT_THAT(write_answers({}, answers), HasSubstr("No heat of this run is finished yet."));
  EXPECT_EQ(
      nlohmann::json::parse(write_answers({}, answers, TableFormat::json)).at("settings").size(),
      0U);
}

TEST(HeadlineOf, NamesTheFastestAtEachLengthWithItsLead) {
  // "a" takes 4 ms, then 1.02 ms, then half of what "b" takes.
  const Table table = table_of({64, 128, 256, 512}, [](double tokens) {
    return tokens < 100 ? 4 : tokens < 200 ? 4 : tokens < 400 ? 0.5 : 0.25;
  });
  const Headline headline = headline_of(make_answers(table, XAxis::length).at(0));
  EXPECT_EQ(
      headline.sentence,
      "Full, b is fastest at 64 to 128 tokens (4.0x as fast as the next, significant); Full, a "
      "at 256 to 512 tokens (2.0x to 4.0x as fast as the next, significant).");
  EXPECT_EQ(headline.of_all, "");
  EXPECT_THAT(headline.against_baseline, StartsWith("Full, a is 4.0x (95 %: "));
  EXPECT_THAT(headline.against_baseline,
              EndsWith(") as fast as Full, b at 512 tokens; 2.0x to 4.0x at 256 to 512 tokens."));
}

TEST(HeadlineOf, GivesTheRangeOfSpeedUpsOverAllLengths) {
  const Table table = table_of({64, 128, 256}, [](double tokens) { return 32 / tokens; });
  EXPECT_THAT(headline_of(make_answers(table, XAxis::length).at(0)).against_baseline,
              AllOf(StartsWith("Full, a is 8.0x (95 %: "),
                    EndsWith(" at 256 tokens; 2.0x to 8.0x at 64 to 256 tokens.")));
}

TEST(HeadlineOf, WithoutASignificantLead_NamesNoWinner) {
  const Table table =
      table_of({64, 96, 128}, [](double tokens) { return tokens < 100 ? 1.001 : 3; });
  EXPECT_EQ(headline_of(make_answers(table, XAxis::length).at(0)).sentence,
            "Full, b is fastest at 128 tokens (3.0x as fast as the next, significant); no clear "
            "winner at 64 to 96 tokens; lowest median: Full, b.");
  const Table twins = table_of({64, 96}, [](double) { return 1.001; });
  const Answer answer = make_answers(twins, XAxis::length).at(0);
  EXPECT_EQ(headline_of(answer).sentence,
            "No clear winner at 64 to 96 tokens; lowest median: Full, b.");
  // The text begins with the headline.
  const std::string text = write_answers({}, std::span(&answer, 1));
  EXPECT_LT(text.find("No clear winner at 64 to 96 tokens"), text.find("Along the length"));
  const auto json =
      nlohmann::json::parse(write_answers({}, std::span(&answer, 1), TableFormat::json));
  EXPECT_TRUE(json.at("settings").at(0).at("rankings").at(0).at("fastest").is_null());
}

/// Full attention takes 4 ms, w = 0 takes 1 ms and has a much lower published nDCG@10, w = 4 takes
/// 2 ms.
Table table_with_published_effectiveness(std::int64_t tokens, double w4_ms = 2) {
  Table table{.run = {}, .rows = {}, .baseline = "full/dense"};
  for (const Cell& cell : {timed_cell("full", "dense", std::nullopt, "Full", 4),
                           timed_cell("sparse", "segment", Window::of(0), "w = 0", 1),
                           timed_cell("sparse", "segment", Window::of(4), "w = 4", w4_ms)})
    table.rows.push_back(answer_row(cell, tokens));
  for (Row& row : table.rows) row.ratio = ratio_between(row, table.rows.front());
  return table;
}

TEST(HeadlineOf, NamesTheFastestEquivalentThenTheFastestOfAll) {
  const Table table = table_with_published_effectiveness(512);
  const Answer answer = make_answers(table, XAxis::length).at(0);
  const Headline headline = headline_of(answer);
  EXPECT_EQ(headline.sentence,
            "Fastest that is equivalent to full attention in nDCG@10 within 0.02 (published, not "
            "measured here): w = 4 at 512 tokens (2.0x as fast as the next, significant).");
  EXPECT_EQ(headline.of_all,
            "Fastest of all: w = 0 at 512 tokens (2.0x as fast as the next, significant), nDCG@10 "
            "over passages 0.560 against 0.619, not shown to be equivalent.");
  EXPECT_THAT(headline.against_baseline, StartsWith("w = 4 is 2.0x (95 %: "));
  // The advice for a question begins with the same sentences.
  const Advice requested =
      make_advice(table, {.documents = DocumentLengths(512), .of_sequences = true}).at(0);
  EXPECT_EQ(fastest_equivalent(requested)->name, "w = 4");
  EXPECT_THAT(requested.notes.at(0),
              AllOf(StartsWith("Fastest that is equivalent to full attention in nDCG@10 within "
                               "0.02 (published, not measured here): w = 4 (2.0x as fast as the "
                               "next, significant), 2.0x as fast as full attention")));
  EXPECT_THAT(requested.notes.at(1), StartsWith("Fastest of all: w = 0 (2.0x as fast as the next"));
}

TEST(HeadlineOf, NamesNoEquivalentWinnerWithoutASignificantLead) {
  EXPECT_THAT(
      headline_of(make_answers(table_with_published_effectiveness(512, 4), XAxis::length).at(0))
          .sentence,
      HasSubstr("no clear winner at 512 tokens; lowest median: "));
}

TEST(HeadlineOf, BeginsWithTheLackOfEquivalents) {
  // The paper shows no equivalence of these over documents.
  const Headline headline =
      headline_of(make_answers(table_with_published_effectiveness(2048), XAxis::length).at(0));
  EXPECT_EQ(headline.sentence,
            "Nothing here is shown to be equivalent to Longformer w = 64 in nDCG@10 within 0.02 "
            "(published, not measured here).");
  EXPECT_THAT(headline.of_all, HasSubstr("0.561 against 0.582, not shown to be equivalent"));
}

TEST(HeadlineOf, IsEmptyWithoutTimes) {
  Table table{.run = {}, .rows = {}, .baseline = {}};
  table.rows.push_back(without_time("a", 64, CellStatus::oom, "too big"));
  EXPECT_EQ(headline_of(make_answers(table, XAxis::length).at(0)).sentence, "");
}

}  // namespace
}  // namespace attnscope::report
