// SPDX-License-Identifier: Apache-2.0
//
// Answers on synthetic runs: crossovers, the longest length that fits, rankings.

#include "engine/report/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/report/advice.h"
#include "engine/report/run_figures.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using test::filter_of;
using test::MeasuredRun;
using test::point_at;
using test::timed_cell;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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
  EXPECT_FALSE(is_measured(ranked[1].row));
  EXPECT_THAT(ranked[1].implausible, HasSubstr("its time is implausible: 7270 % of the limit"));
  const std::string text = write_answers({}, answers, TableFormat::text);
  EXPECT_THAT(text, HasSubstr("implausible"));
  EXPECT_THAT(text, testing::Not(HasSubstr("wrong")));
  EXPECT_FALSE(ratio_between(table.rows[1], table.rows[0]));
}

TEST(CrossoverAnswer, IsASentence) {
  struct Case {
    std::vector<std::int64_t> lengths;
    double (*times)(double);
    std::string_view begin;
    std::string_view rest = "";  // empty: `begin` is the whole sentence
  };
  const std::vector<std::int64_t> all{64, 128, 256, 512, 1024};
  for (const auto& [lengths, times, begin, rest] : {
           Case{all, [](double n) { return 181 / n; },
                "Full, a overtakes Full, b at about 181 tokens (95 %: 1",
                "slower before, faster after."},
           Case{all, [](double n) { return n / 300; },
                "Full, a falls behind Full, b at about 300 tokens (95 %:", " "},
           Case{all, [](double) { return 0.5; },
                "Full, a is faster than Full, b at every measured length (64 to 1024 tokens)."},
           Case{all, [](double) { return 2.0; },
                "Full, a is slower than Full, b at every measured length (64 to 1024 tokens)."},
           Case{all, [](double) { return 1.0; },
                "No difference between Full, a and Full, b is shown at any measured length (64 to "
                "1024 tokens)."},
           Case{{64}, [](double) { return 2.0; }, "Full, a is slower than Full, b at 64 tokens."},
           Case{all, [](double n) { return n < 200 ? 1.3 : 1; },
                "Full, a is slower than Full, b at 64 to 128 tokens; not distinguishable at 256 to "
                "1024 tokens; no crossover can be given."},
           Case{{64, 4096},
                [](double n) { return n < 100 ? 2 : 0.5; },
                "Full, a overtakes Full, b somewhere between 64 and 4096 tokens:",
                " "},
           Case{all, [](double n) { return n == 256 ? 0.5 : 1.5; },
                "Full, a and Full, b cross more than once: Full, a overtakes at about", " "},
       }) {
    const std::string sentence = crossover_sentence(lengths, times);
    EXPECT_THAT(sentence, AllOf(StartsWith(begin), HasSubstr(rest)));
    EXPECT_TRUE(!rest.empty() || sentence == begin) << sentence;
  }
}

TEST(CrossoverAnswer, WithoutACommonLength_HasASentence) {
  Table table = table_of({64}, [](double) { return 1; });
  for (Row& row : table.rows) row.ratio.reset();
  EXPECT_EQ(make_answers(table, XAxis::length).at(0).crossovers.at(0).sentence,
            "Full, a and Full, b have no length at which both were measured.");
}

FitAnswer fit_of(const std::vector<Row>& rows, std::optional<double> available = std::nullopt) {
  const std::vector<FitAnswer> fits = find_fits(all_rows(rows), available);
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
  std::vector<Row> damaged{quadratic(64), quadratic(128)};
  damaged.back().cell.damaged = true;
  EXPECT_EQ(fit_of(damaged).longest, 64);
}

TEST(FitAnswer, PredictsFromTheGrowthOfMemory) {
  // 100 n^2 + 1000 n = 1 GB at n = 3157.
  std::vector<Row> rows{quadratic(512), quadratic(1024)};
  const FitAnswer fit = fit_of(rows, 1e9);
  EXPECT_EQ(fit.predicted, 3100);
  EXPECT_FALSE(fit.predicted_is_least);
  EXPECT_THAT(fit.sentence,
              HasSubstr("predicted from the growth of its memory: up to about 3100 tokens."));
  EXPECT_EQ(fit_of(rows, 1e6).predicted, 1024) << "it never contradicts what was measured";
  const FitAnswer far = fit_of(rows, 1e15);
  EXPECT_TRUE(far.predicted_is_least);
  EXPECT_THAT(far.sentence, HasSubstr("more than 16384 tokens"));
  EXPECT_FALSE(fit_of({quadratic(512)}, 1e15).predicted) << "one length shows no growth";
  rows.push_back(without_time("a", 2048, CellStatus::oom, "full"));
  EXPECT_FALSE(fit_of(rows, 1e9).predicted);
}

TEST(FitAnswer, AContenderWithoutATime_HasItsReason) {
  const FitAnswer fit =
      fit_of({without_time("a", 64, CellStatus::unsupported, "it knows only full attention.")});
  EXPECT_FALSE(fit.longest);
  EXPECT_EQ(fit.sentence,
            "Full, a has no time at any measured length (unsupported: it knows only full "
            "attention).");
}

/// The table of the answer about a measured run.
Table answer_table(const MeasuredRun& run, std::optional<std::string_view> baseline, XAxis x,
                   const std::string& only = "") {
  auto table = make_answer_table(run.store(), run.info(), baseline, filter_of(only), x);
  if (!table) throw std::runtime_error(table.error().message);
  return *table;
}

TEST(Ranking, SortsByTimeAndNamesTheFastest) {
  const Table table = answer_table(MeasuredRun(), std::nullopt, XAxis::length);
  EXPECT_EQ(table.baseline, "full/dense");  // the first of the sweep
  const std::vector<Answer> answers = make_answers(table, XAxis::length);
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_EQ(answers.front().rankings.size(), 2U);
  const Ranking& at_256 = answers.front().rankings.back();
  EXPECT_EQ(at_256.place, "256 tokens");
  std::vector<std::string> order;
  for (const Ranked& one : at_256.contenders) order.push_back(one.row.cell.cell.contender.id());
  EXPECT_THAT(order, ElementsAre("sparse/segment/4", "sparse/segment/64", "full/dense",
                                 "sparse/sdpa-mask/4"));
  EXPECT_NEAR(at_256.contenders[1].to_fastest->ratio, 1.5, 0.01);
  EXPECT_FALSE(at_256.contenders[3].to_fastest);
  EXPECT_THAT(write_answers(table.run, answers),
              AllOf(HasSubstr("256 tokens: Sparse, fused, w = 4 is fastest."),
                    HasSubstr("Sparse, fused, w = 4 is faster than Full/dense at every measured "),
                    HasSubstr("sparse/sdpa-mask, w = 4 fits 64 tokens, not 256 (oom: it asks"),
                    HasSubstr("kernels, \"cpu\"")))
      << "the last is the run's name";
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
  EXPECT_THAT(second_with_interval(0.9, 2.5, no_difference_shown),
              AllOf(HasSubstr("not distinguishable from"), Not(HasSubstr("2.00x"))));
  EXPECT_THAT(second_with_interval(0.001, 3e6, no_difference_shown),
              AllOf(HasSubstr("interval too wide to compare it with"), Not(HasSubstr("2.00x"))));
  EXPECT_THAT(
      write_answers({}, make_answers(table_of({64}, [](double) { return 1; }), XAxis::length)),
      HasSubstr("no clear winner; lowest median: Full, a, not distinguishable from Full, b."));
}

TEST(AnswerTable, FiltersRowsAndKeepsTheBaseline) {
  const MeasuredRun run;
  const std::vector<Answer> answers = make_answers(
      answer_table(run, "full/dense", XAxis::length, "implementation=segment"), XAxis::length);
  ASSERT_EQ(answers.front().crossovers.size(), 2U);
  EXPECT_THAT(answers.front().crossovers.front().sentence, HasSubstr("full/dense"));
  EXPECT_FALSE(make_answer_table(run.store(), run.info(), "full/nothing", {}, XAxis::length));
}

TEST(AnswerAlongWindows, ComparesEveryWindowWithABaselineWithoutWindow) {
  const std::vector<Answer> answers =
      make_answers(answer_table(MeasuredRun(), "full/dense", XAxis::window), XAxis::window);
  ASSERT_EQ(answers.size(), 2U);  // one a length
  EXPECT_EQ(answers.front().setting, "64 tokens");
  EXPECT_EQ(answers.front().rankings.front().place, "w = 4");
  EXPECT_EQ(answers.front().rankings.front().contenders.size(), 3U);
  EXPECT_THAT(answers.front().crossovers.front().sentence,
              HasSubstr("is faster than Full/dense at every measured window (w = 4 to 64)."));
  EXPECT_TRUE(answers.front().fits.empty());
}

TEST(AnswerAlongWindows, ComparesEachWindowWithTheBaselinesSameWindow) {
  const Table table = answer_table(MeasuredRun(), "sparse/segment", XAxis::window);
  EXPECT_EQ(table.baseline, "sparse/segment");
  EXPECT_EQ(test::row_of(table, "sparse/segment/64", 64).ratio->ratio, 1);
  EXPECT_NEAR(test::row_of(table, "sparse/sdpa-mask/4", 64).ratio->ratio, 4, 0.01);
  EXPECT_FALSE(test::row_of(table, "full/dense", 64).ratio);
  EXPECT_EQ(make_answers(table, XAxis::window).front().crossovers.at(0).sentence,
            "sparse/sdpa-mask is slower than Sparse, fused at w = 4.");
}

TEST(CrossoverAnswer, IsMarkedInAFigureAndWrittenAsJson) {
  const Table table = table_of({64, 128, 256, 512, 1024}, [](double n) { return 181 / n; });
  auto figure = make_figure(table, XAxis::length, YAxis::time);
  ASSERT_TRUE(figure) << figure.error().message;
  EXPECT_TRUE(figure->marks.empty());
  mark_crossovers(*figure, table, XAxis::length, YAxis::time);
  ASSERT_EQ(figure->marks.size(), 1U);
  EXPECT_NEAR(figure->marks[0].x, 181, 1);
  EXPECT_EQ(figure->marks[0].text, "from 181 tokens");
  EXPECT_EQ(figure->marks[0].style_key, "full/a");
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
  EXPECT_EQ(setting.at("rankings").size(), 5U);
  EXPECT_EQ(setting.at("rankings").at(0).at("contenders").at(0).at("contender"), "full/b");
  EXPECT_EQ(setting.at("longest_that_fits").at(0).at("longest_tokens"), 1024);
}

TEST(Answer, OfARunWithoutHeatsIsASentence) {
  const std::vector<Answer> answers = make_answers(Table{}, XAxis::length);
  EXPECT_THAT(write_answers({}, answers), HasSubstr("No heat of this run is finished yet."));
  EXPECT_EQ(
      nlohmann::json::parse(write_answers({}, answers, TableFormat::json)).at("settings").size(),
      0U);
}

Headline headline_of(const Table& table) {
  return headline_of(make_answers(table, XAxis::length).at(0));
}

TEST(HeadlineOf, NamesTheFastestAtEachLengthWithItsLead) {
  // "a" takes 4 ms, then half and a quarter of what "b" takes.
  const Headline headline = headline_of(table_of({64, 128, 256, 512}, [](double tokens) {
    return tokens < 200 ? 4 : tokens < 400 ? 0.5 : 0.25;
  }));
  EXPECT_EQ(
      headline.sentence,
      "Full, b is fastest at 64 to 128 tokens (4.0x as fast as the next, significant); Full, a "
      "at 256 to 512 tokens (2.0x to 4.0x as fast as the next, significant).");
  EXPECT_EQ(headline.of_all, "");
  EXPECT_THAT(headline.against_baseline,
              AllOf(StartsWith("Full, a is 4.0x (95 %: "),
                    EndsWith(") as fast as Full, b at 512 tokens; 2.0x to 4.0x at 256 to 512 "
                             "tokens.")));
}

TEST(HeadlineOf, NamesNoWinnerWithoutASignificantLead) {
  EXPECT_EQ(
      headline_of(table_of({64, 96, 128}, [](double tokens) { return tokens < 100 ? 1.001 : 3; }))
          .sentence,
      "Full, b is fastest at 128 tokens (3.0x as fast as the next, significant); no clear winner "
      "at 64 to 96 tokens; lowest median: Full, b.");
  const Answer answer =
      make_answers(table_of({64, 96}, [](double) { return 1.001; }), XAxis::length).at(0);
  const std::string sentence = "No clear winner at 64 to 96 tokens; lowest median: Full, b.";
  EXPECT_EQ(headline_of(answer).sentence, sentence);
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
  const Headline headline = headline_of(table);
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
              StartsWith("Fastest that is equivalent to full attention in nDCG@10 within 0.02 "
                         "(published, not measured here): w = 4 (2.0x as fast as the next, "
                         "significant), 2.0x as fast as full attention"));
  EXPECT_THAT(requested.notes.at(1), StartsWith("Fastest of all: w = 0 (2.0x as fast as the next"));
}

TEST(HeadlineOf, NamesNoEquivalentWinnerWithoutASignificantLead) {
  EXPECT_THAT(headline_of(table_with_published_effectiveness(512, 4)).sentence,
              HasSubstr("no clear winner at 512 tokens; lowest median: "));
}

TEST(HeadlineOf, BeginsWithTheLackOfEquivalents) {
  // The paper shows no equivalence of these over documents.
  const Headline headline = headline_of(table_with_published_effectiveness(2048));
  EXPECT_EQ(headline.sentence,
            "Nothing here is shown to be equivalent to Longformer w = 64 in nDCG@10 within 0.02 "
            "(published, not measured here).");
  EXPECT_THAT(headline.of_all, HasSubstr("0.561 against 0.582, not shown to be equivalent"));
  // The paper compares passages and documents with different models.
  Table both = table_with_published_effectiveness(512);
  std::ranges::move(table_with_published_effectiveness(2048).rows, std::back_inserter(both.rows));
  EXPECT_THAT(headline_of(both).sentence,
              HasSubstr("equivalent to Longformer w = 64 (over documents) or full attention (over "
                        "passages) in nDCG@10 within 0.02"));
}

TEST(HeadlineOf, IsEmptyWithoutTimes) {
  Table table;
  table.rows.push_back(without_time("a", 64, CellStatus::oom, "too big"));
  EXPECT_EQ(headline_of(table).sentence, "");
}

}  // namespace
}  // namespace attnscope::report
