// SPDX-License-Identifier: Apache-2.0
#include "engine/report/model_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace attnscope::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ModelProfile three_rounds() {
  ModelProfile profile({.model = "mini",
                        .pairs = "pairs.tsv",
                        .implementation = "segment",
                        .dtype = "float32",
                        .threads = 2,
                        .count = 10,
                        .tokens = 1000,
                        .part_flop = {{"projections", 4e9}, {"attention", 1e9}},
                        .flop_per_second = 1e11});
  for (const double more : {0.0, 0.5, 0.1}) {
    profile.add({.whole_seconds = 1 + more,
                 .tokenizer_seconds = 0.1,
                 .part_seconds = {{"projections", 0.4 + more}, {"attention", 0.2}}});
  }
  return profile;
}

TEST(ModelProfile, PartsAreMediansAndOtherIsTheRest) {
  const std::vector<ProfiledPart> parts = three_rounds().parts();
  std::vector<std::string> names;
  for (const ProfiledPart& part : parts) names.push_back(part.name);
  EXPECT_THAT(names,
              testing::ElementsAre("tokenizer", "projections", "attention", "other", "whole"));
  EXPECT_DOUBLE_EQ(parts[1].seconds, 0.5);
  EXPECT_DOUBLE_EQ(parts[1].least, 0.4);
  EXPECT_DOUBLE_EQ(parts[1].most, 0.9);
  EXPECT_NEAR(parts[3].seconds, 0.3, 1e-12);
  EXPECT_DOUBLE_EQ(parts[1].flop_per_second, 8e9);
  EXPECT_DOUBLE_EQ(parts[1].of_ceiling, 0.08);
  EXPECT_NEAR(parts[4].flop_per_second, 5e9 / 1.1, 1);
  EXPECT_EQ(parts[0].flop_per_second, 0) << "a tokenizer multiplies nothing";
}

TEST(ModelProfile, FigureIsABarOfThePairsTime) {
  const Figure figure = profile_figure(three_rounds());
  EXPECT_THAT(figure.x_names, testing::ElementsAre("mini"));
  ASSERT_EQ(figure.series.size(), 4U);
  EXPECT_EQ(figure.series[1].name, "projections");
  EXPECT_NEAR(figure.series[1].points.at(0).y, 50, 1e-9);
  EXPECT_EQ(figure.series[1].points.at(0).mark, "8 %");
}

TEST(ModelProfile, IsATableForReadersAndNumbersForPrograms) {
  EXPECT_THAT(
      write_profile(three_rounds(), TableFormat::text),
      AllOf(HasSubstr("mini on pairs.tsv: 10 pairs, 100 tokens each, float32, attention by "
                      "segment, 2 threads"),
            HasSubstr("█"), HasSubstr("Medians of 3 passes; 9 pairs and 909 tokens a second")));
  const auto rows = nlohmann::json::parse(write_profile(three_rounds(), TableFormat::json));
  EXPECT_EQ(rows.at(1).at("part"), "projections");
  EXPECT_EQ(rows.at(1).at("seconds"), 0.5);
  EXPECT_TRUE(rows.at(0).at("of_ceiling").is_null());
}

/// Calls of 0.9 to 1.1 times `seconds`.
TopKLatency around(std::int64_t top_k, double seconds, int calls = 100) {
  TopKLatency latency{.top_k = top_k};
  for (int i = 0; i < calls; ++i)
    latency.seconds.push_back(seconds * (0.9 + 0.2 * i / (calls - 1)));
  return latency;
}

ModelLatency of_sixty_queries() {
  ModelLatency latency{.model = "mini",
                       .pairs = "pairs.tsv",
                       .implementation = "segment",
                       .dtype = "float32",
                       .device = "2 threads",
                       .queries = 60,
                       .tokens = 174.2,
                       .limit = {.seconds = 0.2, .percent = 95, .most = 80},
                       .most_in_words = "all that pairs.tsv has",
                       .rows = {around(10, 0.05, 60), around(20, 0.1, 120)},
                       .largest = {.within = around(43, 0.18, 60), .beyond = around(45, 0.19, 60)},
                       .notes = {"a note"}};
  latency.rows[0].offline_seconds = 2;
  return latency;
}

TEST(Latency, IsAnsweredInASentence) {
  ModelLatency latency = of_sixty_queries();
  EXPECT_EQ(
      answer_in_words(latency),
      "Up to 43 documents per query are re-ranked within 200 ms (p95 of 60 queries: 196.2 ms; "
      "45 took 207.1 ms)");
  latency.queries = 6;
  const auto sentence = [&](std::optional<TopKLatency> within, std::optional<TopKLatency> beyond) {
    latency.largest = {.within = std::move(within), .beyond = std::move(beyond)};
    return answer_in_words(latency);
  };
  EXPECT_THAT(sentence(around(1, 0.1, 60), around(2, 0.3, 60)),
              HasSubstr("Up to 1 document per query is re-ranked within 200"
                        " ms (p95 of 60 calls of 6 queries: 109 ms; 2"));
  EXPECT_EQ(
      sentence(around(80, 0.1, 60), std::nullopt),
      "80 documents per query, all that pairs.tsv has, are re-ranked within 200 ms (p95 of 60 "
      "calls of 6 queries: 109 ms)");
  EXPECT_EQ(sentence(std::nullopt, around(1, 1.5, 60)),
            "Even one document per query takes longer than 200 ms (p95 of 60 calls of 6 queries: "
            "1635 ms)");
}

TEST(Latency, IsATableForReadersAndNumbersForPrograms) {
  const std::string text = write_latency(of_sixty_queries(), TableFormat::text);
  for (const char* part :
       {"mini on pairs.tsv: 60 queries, 174 tokens per pair, float32, attention by segment, 2 "
        "threads",
        "55.0 *",  // p99 of 60 calls
        "* the longest of 60 calls, because p99 needs at least 100", "Up to 43 documents",
        "a note"})
    EXPECT_THAT(text, HasSubstr(part));
  const auto whole = nlohmann::json::parse(write_latency(of_sixty_queries(), TableFormat::json));
  const auto& row = whole.at("top_k").at(0);
  for (const auto& [key, value] : {std::pair("top_k", 10.0),
                                   {"calls", 60},
                                   {"p50_ms", 50},
                                   {"mean_ms", 50},
                                   {"queries_per_second", 20},
                                   {"offline_queries_per_second", 30},
                                   {"offline_pairs_per_second", 300}})
    EXPECT_NEAR(row.at(key).get<double>(), value, 1e-9) << key;
  EXPECT_TRUE(whole.at("top_k").at(1).at("offline_pairs_per_second").is_null());
  EXPECT_EQ(whole.at("largest").at("within").at("top_k"), 43);
  EXPECT_EQ(whole.at("largest").at("beyond").at("top_k"), 45);
  EXPECT_THAT(write_latency(of_sixty_queries(), TableFormat::csv), Not(HasSubstr("*")));
}

}  // namespace
}  // namespace attnscope::report
