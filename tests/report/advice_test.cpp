// SPDX-License-Identifier: Apache-2.0
//
// Advice on synthetic runs: for a document of n tokens in total, full attention takes n^2 us and
// sparse with w = 4 takes 128 n us, so that they cross at 128 tokens.

#include "engine/report/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/report/length_curve.h"
#include "engine/sweep/sweep.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using statistics::Verdict;
using test::point_at;
using test::timed_cell;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Row row_of(Cell cell, std::int64_t tokens) {
  Row row;
  cell.batch = 1;
  cell.memory.requested_bytes = 1000 * tokens * tokens;
  if (cell.contender.pattern != "full") cell.memory.requested_bytes = 1'000'000;
  cell.work.least_bytes = 0;
  row.cell.cell = std::move(cell);
  row.cell.point = point_at(tokens);
  row.cell.heat_number = tokens;
  row.cell.summary = statistics::summarise(per_item(row.cell));
  return row;
}

Cell full_cell(double tokens) {
  return timed_cell("full", "dense", std::nullopt, "Full", tokens * tokens / 1000);
}

Cell sparse_cell(double tokens) {
  return timed_cell("sparse", "segment", Window::of(4), "Sparse, w = 4", 128 * tokens / 1000);
}

Table table_of(const std::vector<std::int64_t>& lengths) {
  Table table{.run = {}, .rows = {}, .baseline = "full/dense"};
  for (const std::int64_t tokens : lengths) {
    Row full = row_of(full_cell(static_cast<double>(tokens)), tokens);
    Row sparse = row_of(sparse_cell(static_cast<double>(tokens)), tokens);
    sparse.ratio = ratio_between(sparse, full);
    full.ratio = ratio_between(full, full);
    table.rows.push_back(full);
    table.rows.push_back(sparse);
  }
  return table;
}

const std::vector<std::int64_t> doubling{64, 128, 256, 512, 1024};

/// The document length that makes a sequence of `tokens` with the run's query of 10 tokens.
DocumentLengths in_all(std::int64_t tokens) {
  return DocumentLengths(tokens - 13);
}

Advice advice_on(const Table& table, const Question& question) {
  std::vector<Advice> all = make_advice(table, question);
  EXPECT_EQ(all.size(), 1U);
  return all.front();
}

Advice advice_at(std::int64_t tokens) {
  return advice_on(table_of(doubling), {.documents = in_all(tokens), .candidates = 100});
}

const Advised& of(const Advice& advice, std::string_view pattern) {
  for (const Advised& one : advice.contenders) {
    if (one.pattern == pattern) return one;
  }
  throw std::runtime_error("no such contender");
}

std::string written(const Advice& advice, TableFormat format) {
  return write_advice(advice.run, std::span(&advice, 1), format);
}

Advice advice_with(const Table& table, std::int64_t tokens) {
  return advice_on(table, {.documents = in_all(tokens)});
}

double ms(const Advised& one) {
  return one.time_ns->value / 1e6;
}

void lose(Row& row, CellStatus status, const std::string& reason) {
  row.cell.cell.samples.clear();
  row.cell.summary = {};
  row.cell.cell.status = status;
  row.cell.cell.reason = reason;
  row.ratio.reset();
}

// Powers are straight lines in logarithms: interpolation is exact here.
TEST(Advice, InterpolatesInLogarithmsBetweenMeasuredLengths) {
  for (std::int64_t tokens = 64; tokens <= 1024; tokens += 32) {
    SCOPED_TRACE(tokens);
    const Advice advice = advice_at(tokens);
    const auto n = static_cast<double>(tokens);
    EXPECT_NEAR(ms(of(advice, "full")), 100 * n * n / 1000, 1e-8 * n * n);
    EXPECT_NEAR(ms(of(advice, "sparse")), 100 * 128 * n / 1000, 1e-3);
    const bool is_measured = std::ranges::find(doubling, tokens) != doubling.end();
    EXPECT_EQ(of(advice, "full").is_interpolated, !is_measured);
    EXPECT_EQ(advice.to_measure.empty(), is_measured);
    EXPECT_EQ(of(advice, "full").sentence.find("≈") == std::string::npos, is_measured);
  }
}

TEST(Advice, UsesLengthsOfWholeSequencesUnchanged) {
  const Advice answer =
      advice_on(table_of(doubling), {.documents = DocumentLengths(512), .of_sequences = true});
  EXPECT_EQ(answer.contenders[0].time_ns->value, advice_at(512).contenders[0].time_ns->value);
  EXPECT_THAT(answer.to_measure, IsEmpty());
  EXPECT_EQ(answer.heading, "100 candidates, a query of 10 tokens, sequences of 512 tokens.");
}

TEST(Advice, MarksInterpolatedTimesAndWidensTheirIntervals) {
  const Advice advice = advice_at(300);
  const Advised& sparse = of(advice, "sparse");
  EXPECT_NEAR(sparse.to_baseline->ratio, 128.0 / 300, 1e-9);
  EXPECT_EQ(sparse.lower, 256);
  EXPECT_EQ(sparse.upper, 512);
  EXPECT_THAT(sparse.remarks, Contains("≈: interpolated, measured at 256 and 512 tokens."));
  EXPECT_THAT(advice.to_measure, ElementsAre(300));
  EXPECT_LT(sparse.time_ns->low, sparse.time_ns->value);
  EXPECT_GT(sparse.time_ns->high, sparse.time_ns->value);
  EXPECT_LE(sparse.to_baseline->low, sparse.to_baseline->ratio);
  EXPECT_GE(sparse.to_baseline->high, sparse.to_baseline->ratio);
}

TEST(Advice, HasNoTimeBeyondTheLongestMeasuredLength) {
  const Advice advice = advice_at(1025);
  for (const Advised& one : advice.contenders) {
    EXPECT_FALSE(one.time_ns.has_value());
    EXPECT_EQ(one.standing, Standing::without_time);
    EXPECT_THAT(one.sentence, HasSubstr("1025 tokens exceed 1024 tokens, its longest"));
    EXPECT_TRUE(one.memory_is_predicted) << "memory is extrapolated";
  }
  EXPECT_NEAR(*of(advice, "full").peak_bytes, 100 * 1000.0 * 1025 * 1025, 1e6);
  EXPECT_THAT(advice.to_measure, ElementsAre(1025));
  const Advice in_part = advice_on(table_of(doubling), {.documents = DocumentLengths({51, 2000})});
  EXPECT_THAT(of(in_part, "full").reason,
              HasSubstr("1 of 2 documents makes a sequence longer than 1024 tokens, its longest "
                        "measured length"));
}

TEST(Advice, ShorterDocumentsCountAsTheShortestMeasuredLength) {
  const Advised sparse = of(advice_at(20), "sparse");
  EXPECT_NEAR(ms(sparse), ms(of(advice_at(64), "sparse")), 1e-9);
  EXPECT_EQ(sparse.counted_as, 64);
  EXPECT_THAT(sparse.sentence, HasSubstr("≈"));
}

TEST(Advice, DoesNotInterpolateAcrossALengthWithoutTime) {
  Table table = table_of(doubling);
  lose(table.rows[4], CellStatus::timeout, "it took more than 3 s");  // full at 256
  table.rows[5].ratio.reset();
  const Advice advice = advice_with(table, 200);
  EXPECT_FALSE(of(advice, "full").time_ns.has_value());
  EXPECT_TRUE(of(advice, "sparse").time_ns.has_value());
  EXPECT_FALSE(of(advice, "sparse").to_baseline.has_value());
}

TEST(Advice, SumsOverTheLengthsOfAFile) {
  const DocumentLengths lengths({51, 51, 243, 499});  // 64, 64, 256 and 512 in all
  const Advice advice = advice_on(table_of(doubling), {.documents = lengths, .candidates = 200});
  const double squares = 2 * 64 * 64 + 256 * 256 + 512 * 512, sum = 2 * 64 + 256 + 512;
  EXPECT_NEAR(ms(of(advice, "full")), 50 * squares / 1000, 1e-3);
  EXPECT_NEAR(ms(of(advice, "sparse")), 50 * 128 * sum / 1000, 1e-3);
  EXPECT_NEAR(of(advice, "sparse").to_baseline->ratio, 128 * sum / squares, 1e-9);
  EXPECT_THAT(advice.heading,
              HasSubstr("a sample of 4 (51 to 499 tokens, mean 211, p50 51, p95 499)"));
}

TEST(Advice, HeadingStatesTheLimits) {
  EXPECT_THAT(advice_on(table_of(doubling),
                        {.documents = in_all(512), .memory_bytes = 5e8, .latency_ns = 1.5e8})
                  .heading,
              EndsWith("; at most 500 MB and 150 ms."));
}

TEST(Advice, RanksTheFastestFirstAndStatesSpeedUpAndCrossover) {
  const Advice fast = advice_at(512);
  EXPECT_EQ(fast.contenders.front().sentence,
            "Sparse, w = 4: 6.55 s for 100 documents, 4.0x as fast as full attention; faster from "
            "128 tokens.");
  EXPECT_EQ(of(fast, "full").sentence, "Full: 26.2 s for 100 documents, the baseline.");
  const Advice slow = advice_at(64);
  EXPECT_EQ(slow.contenders.front().pattern, "full");
  EXPECT_THAT(of(slow, "sparse").sentence, HasSubstr("2.0x the time of full attention"));
  const Advised same = of(advice_at(128), "sparse");
  EXPECT_EQ(same.to_baseline->verdict, Verdict::no_difference_shown);
  EXPECT_THAT(same.sentence, HasSubstr("no difference from full attention shown"));
}

TEST(Advice, SortsContendersThatAreTooSlowLast) {
  const Advice advice =
      advice_on(table_of(doubling), {.documents = in_all(512), .latency_ns = 1e10});
  EXPECT_EQ(advice.contenders.front().standing, Standing::within_limits);
  EXPECT_EQ(advice.contenders.back().standing, Standing::too_slow);
  EXPECT_THAT(advice.contenders.back().sentence,
              HasSubstr("Full is too slow (the limit is 10.0 s): 26.2 s"));
}

TEST(Advice, SortsContendersThatDoNotFitLastWithTheBatchThatFits) {
  // At 512 tokens a document of full attention takes 262 MB, one of sparse 1 MB.
  const Advice advice =
      advice_on(table_of(doubling), {.documents = in_all(512), .memory_bytes = 50e6});
  EXPECT_EQ(of(advice, "full").standing, Standing::too_large);
  EXPECT_THAT(of(advice, "full").sentence,
              HasSubstr("Full does not fit (one document needs 262 MB, the limit is 50.0 MB)"));
  EXPECT_EQ(of(advice, "sparse").standing, Standing::within_limits);
  EXPECT_EQ(of(advice, "sparse").at_once, 50);
}

TEST(Advice, ComparesTheLongestDocumentsThatFit) {
  // 1000 n^2 bytes: 223 tokens stay within 50 MB, which is 210 of the document.
  const Question question{.documents = in_all(128), .memory_bytes = 50e6};
  Table table = table_of(doubling);
  const Advice advice = advice_on(table, question);
  const Advised full = of(advice, "full"), sparse = of(advice, "sparse");
  ASSERT_TRUE(full.longest && sparse.longest);
  EXPECT_EQ(full.longest->document_tokens, 210);
  EXPECT_EQ(full.longest->from, LongestDocument::From::between);
  EXPECT_EQ(sparse.longest->from, LongestDocument::From::predicted);
  EXPECT_TRUE(sparse.longest->at_least);
  EXPECT_THAT(sparse.sentence, HasSubstr("fits at least 78x longer documents"));
  // The same fit of all contenders is one note.
  for (const Row& row : std::vector<Row>(table.rows)) {
    if (row.cell.cell.contender.pattern != "sparse") continue;
    table.rows.push_back(row);
    table.rows.back().cell.cell.contender.implementation = "another";
    table.rows.back().cell.cell.contender.name = "Another";
  }
  const Advice three = advice_on(table, question);
  ASSERT_EQ(three.contenders.size(), 3U);
  for (const Advised& one : three.contenders)
    EXPECT_THAT(one.sentence, Not(HasSubstr("longer documents")));
  EXPECT_THAT(
      three.notes,
      Contains("Each of the others fits at least 78x longer documents than full attention."));
}

TEST(Advice, PredictsNoFitBeyondALengthThatDidNotFit) {
  Table table = table_of(doubling);
  lose(table.rows[table.rows.size() - 2], CellStatus::oom, "it asks for 9 GB");
  table.run.start.provenance = R"({"device":{"available_bytes":1e12}})";
  const Advice advice = advice_with(table, 700);
  EXPECT_EQ(of(advice, "full").longest->document_tokens, 499);
  EXPECT_FALSE(of(advice, "full").longest->at_least);
  EXPECT_THAT(of(advice, "full").sentence,
              HasSubstr("700 tokens exceed 512 tokens, its longest measured length; at 1024 "
                        "oom: it asks for 9 GB"));
}

TEST(Advice, LabelsPublishedEffectiveness) {
  const auto sparse_with = [](std::int64_t window) {
    Table table = table_of(doubling);
    for (Row& row : table.rows) {
      Contender& contender = row.cell.cell.contender;
      if (contender.pattern == "sparse") contender.window = Window::of(window);
    }
    return of(advice_with(table, 256), "sparse");
  };
  EXPECT_DOUBLE_EQ(sparse_with(4).published.value().ndcg10, 0.612);
  EXPECT_THAT(sparse_with(4).remarks, Contains(HasSubstr("published, not measured here")));
  EXPECT_THAT(sparse_with(0).remarks,
              Contains(HasSubstr("nDCG@10 0.560 over passages, about 0.06 below full attention")));
  EXPECT_FALSE(sparse_with(5).published.has_value());
}

TEST(Advice, UsesTheNearestMeasuredQueryLength) {
  Table table = table_of(doubling);
  const std::size_t own = table.rows.size();
  for (std::size_t i = 0; i < own; ++i) {
    Row longer = table.rows[i];
    longer.cell.point.query_tokens = 30;
    table.rows.push_back(longer);
  }
  const Advice advice = advice_on(table, {.query_tokens = 28, .documents = DocumentLengths(100)});
  EXPECT_EQ(advice.point.query_tokens, 30);
  EXPECT_THAT(advice.notes, Contains(HasSubstr("The run has queries of 30 tokens")));
  EXPECT_THAT(advice.heading, HasSubstr("a query of 28 tokens"));
  EXPECT_THAT(advice.to_measure, ElementsAre(131));
}

TEST(Advice, HasOneAdviceForEachSetting) {
  Table table = table_of(doubling);
  Row half = table.rows.front();
  half.cell.point.dtype = DType::float16;
  table.rows.push_back(half);
  const std::vector<Advice> all = make_advice(table, {});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].setting, "float32");
  EXPECT_EQ(all[1].setting, "float16");
}

TEST(Advice, GivesTheReasonIfNothingHasATime) {
  Table table = table_of({64});
  for (Row& row : table.rows) lose(row, CellStatus::unsupported, "it knows no such pattern");
  const Advice advice = advice_on(table, {});
  for (const Advised& one : advice.contenders) {
    EXPECT_THAT(one.sentence, HasSubstr("unsupported: it knows no such pattern"));
  }
  EXPECT_TRUE(make_advice(Table{}, Question{}).empty());
}

TEST(Advice, WorksWithoutABaseline) {
  Table table = table_of(doubling);
  table.baseline.reset();
  for (Row& row : table.rows) row.ratio.reset();
  EXPECT_EQ(of(advice_with(table, 512), "sparse").sentence,
            "Sparse, w = 4: 6.55 s for 100 documents.");
}

TEST(Advice, ExactSweepHasOnlyTheMissingLengths) {
  Table table = table_of(doubling);
  table.run.start.sweep_text = R"({"name": "mine", "contenders": ["full/dense", "sparse/segment/4"],
      "sequence_tokens": ["64:1024:*2"], "dtype": ["float32", "float16"], "batch": {"max": [1, 100]}})";
  const auto sweep = parse_sweep(
      exact_sweep(advice_on(table, {.query_tokens = 12, .documents = DocumentLengths({100, 700})})),
      "the sweep");
  ASSERT_TRUE(sweep.has_value()) << sweep.error().message;
  ASSERT_EQ(sweep->heats.size(), 2U);
  EXPECT_EQ(sweep->heats[0].point.sequence_tokens, 115);
  EXPECT_EQ(sweep->heats[1].point.sequence_tokens, 715);
  EXPECT_EQ(sweep->heats[0].point.query_tokens, 12);
  EXPECT_EQ(sweep->heats[0].point.batch_max, 100);
  EXPECT_EQ(sweep->heats[0].contenders.size(), 2U);
}

TEST(Advice, TakesDocumentsForSequencesIfThereIsNoQuery) {
  Table table = table_of(doubling);
  for (Row& row : table.rows) row.cell.point.operation = Operation::windowed_matmul;
  const Advice advice = advice_on(table, {.documents = DocumentLengths(256)});
  EXPECT_TRUE(advice.to_measure.empty());
  EXPECT_THAT(advice.heading, HasSubstr("100 candidates, documents of 256 tokens"));
}

TEST(Advice, IsWrittenInEveryFormat) {
  const Advice advice =
      advice_on(table_of(doubling), {.documents = in_all(300), .latency_ns = 5e9});
  EXPECT_THAT(written(advice, TableFormat::text),
              AllOf(HasSubstr(" 1. Sparse, w = 4: ≈ 3.84 s for 100 documents"),
                    HasSubstr(" is too slow (the limit is 5.00 s)")));
  EXPECT_THAT(written(advice, TableFormat::markdown),
              AllOf(HasSubstr("| Contender | 100 documents | Against full attention |"),
                    HasSubstr("| Sparse, w = 4 | ≈ 3.84 s | 2.3x as fast |"),
                    HasSubstr("published, not measured here")));
  EXPECT_THAT(written(advice, TableFormat::latex),
              AllOf(HasSubstr("Sparse, $w = 4$ & $\\approx$ 3.84 s & 2.3x as fast & "),
                    HasSubstr("too slow: the limit is 5.00 s"), Not(HasSubstr("≈"))));
  EXPECT_THAT(written(advice, TableFormat::csv),
              AllOf(HasSubstr("sparse/segment/4,\"Sparse, w = 4\",within limits,,3840,"),
                    HasSubstr("full/dense,Full,too slow,")));
  const auto json = nlohmann::json::parse(written(advice, TableFormat::json));
  ASSERT_EQ(json.size(), 1U);
  const auto& first = json[0]["contenders"][0];
  EXPECT_EQ(first["contender"], "sparse/segment/4");
  EXPECT_EQ(first["between"], nlohmann::json({256, 512}));
  EXPECT_EQ(first["to_baseline"]["verdict"], "faster");
  EXPECT_NEAR(first["ms"]["value"].get<double>(), 3840, 1e-6);
  EXPECT_EQ(first["published"]["label"], "published, not measured here");
  EXPECT_EQ(json[0]["lengths_to_measure"], nlohmann::json({300}));
}

TEST(Advice, AVerdictNeedsAnIntervalOnOneSideOfOne) {
  using statistics::Verdict;
  EXPECT_EQ(verdict_of(0.8, 0.9), Verdict::faster);
  EXPECT_EQ(verdict_of(1.1, 1.2), Verdict::slower);
  EXPECT_EQ(verdict_of(0.9, 1.1), Verdict::no_difference_shown);
}

}  // namespace
}  // namespace attnscope::report
