// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/measures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace attnscope::effectiveness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(const char* names) {
  const auto measures = parse_measures(names);
  return measures ? "" : measures.error().message;
}

TEST(Measures, NamesAreReadAndWrittenAsIrMeasuresWritesThem) {
  std::istringstream names(
      "nDCG nDCG@10 nDCG(dcg='exp-log2')@10 RR RR@10 RR(rel=2)@10 AP "
      "AP(rel=3,judged_only=True)@100 P@5 R@100 Judged Judged@10 Rprec(rel=2) Success@5 ERR ERR@10 "
      "Bpref(rel=340) SetP SetR SetF SetAP");
  for (std::string name; names >> name;) {
    const auto measure = parse_measure(name);
    ASSERT_TRUE(measure) << measure.error().message;
    EXPECT_EQ(measure->name(), name);
  }
  EXPECT_EQ(parse_measure("MRR@10")->name(), "RR@10");
  EXPECT_EQ(parse_measure(" nDCG( dcg=\"log2\" )@5 ")->name(), "nDCG@5");
  const auto several = parse_measures("AP(rel=2,judged_only=True),P@5");
  ASSERT_TRUE(several);
  EXPECT_EQ(several->size(), 2U);
}

TEST(Measures, TrecEvalsNamesAreKnownInAnyCase) {
  std::istringstream names(
      "ndcg nDCG ndcg_cut_10 nDCG@10 ndcg_cut.10 nDCG@10 map AP map_cut_100 AP@100 recip_rank RR "
      "P_5 P@5 P.5 P@5 recall_100 R@100 success_1 Success@1 Rprec Rprec bpref Bpref set_P SetP "
      "set_recall SetR set_map SetAP set_F SetF map(rel=2) AP(rel=2) NDCG@10 nDCG@10 ndcg@10 "
      "nDCG@10 mrr@10 RR@10 Recall@100 R@100 RPrec Rprec BPref Bpref map@100 AP@100");
  for (std::string written, name; names >> written >> name;) {
    const auto measure = parse_measure(written);
    ASSERT_TRUE(measure) << measure.error().message;
    EXPECT_EQ(measure->name(), name) << written;
  }
}

TEST(Measures, UnknownMeasuresAreRefusedWithTheKnownOnes) {
  for (const auto& [names, message] : {std::pair("nDGC@10", "'nDGC@10' is not a measure"),
                                       {"nDCG@10,", "known: nDCG@10"},
                                       {"nDCG@0", "cut-off"},
                                       {"nDCG@ten", "cut-off"},
                                       {"P", "without a cut-off"},
                                       {"ndcg_cut", "without a cut-off"},
                                       {"Success", "without a cut-off"},
                                       {"P_5,10", "'10' is not a measure"},
                                       {"Rprec@10", "with a cut-off"},
                                       {"recip_rank_10", "with a cut-off"},
                                       {"ndcg_cut_0", "cut-off is not a positive integer"},
                                       {"ERR(rel=2)@10", "brackets"},
                                       {"nDCG@10,ndcg_cut_10", "given twice"},
                                       {"RR(rel=0)", "brackets"},
                                       {"AP(rel=1,rel=2)", "brackets"},
                                       {"nDCG(rel=2)", "brackets"},
                                       {"RR(rel=2", "not a measure"},
                                       {"nDCG@10,NDCG@10", "given twice"}})
    EXPECT_THAT(error_of(names), HasSubstr(message)) << names;
}

TEST(Measures, HaveADefinition) {
  for (const auto& [name, words] : {std::pair("nDCG@10", "gain relevance"),
                                    {"nDCG(dcg='exp-log2')", "2^relevance - 1"},
                                    {"RR(rel=2)@10", "relevant: judged 2 or higher"},
                                    {"AP(judged_only=True)", "unjudged documents ignored"}})
    EXPECT_THAT(parse_measure(name)->definition(), HasSubstr(words));
}

TEST(Measures, GradesBeyondAMeasuresRange_AreAnError) {
  const auto error_with = [](std::int64_t level, const char* names) {
    const Qrels qrels{.file = "clicks", .queries = {{"q", {{"d", level}}}}};
    const Status known = check_grades(*parse_measures(names), qrels);
    return known ? "" : known.error().message;
  };
  EXPECT_THAT(error_with(340, "nDCG@10,ERR@10"),
              AllOf(HasSubstr("document 'd' of query 'q' has the relevance 340"),
                    HasSubstr("ERR@10 is defined for relevances up to 4")));
  EXPECT_THAT(error_with(1287, "nDCG(dcg='exp-log2')"), HasSubstr("up to 1000"));
  EXPECT_EQ(error_with(4, "ERR"), "");
  EXPECT_EQ(error_with(1000, "nDCG(dcg='exp-log2')"), "");
  EXPECT_EQ(error_with(70'000'000'000, "nDCG,AP,RR,P@5,Bpref"), "");
}

using Ranking = std::vector<RankedDocument>;

Ranking ranking(const std::string& letters) {
  Ranking documents;
  documents.reserve(letters.size());
  for (const char letter : letters) documents.push_back({.id = std::string(1, letter)});
  return documents;
}

double rbo(const std::string& a, const std::string& b) {
  return compare_rankings(ranking(a), ranking(b)).rbo;
}

TEST(RankAgreement, RboIsOneForTheSameAndZeroForNothingInCommon) {
  EXPECT_NEAR(rbo("abcdef", "abcdef"), 1, 1e-12);
  EXPECT_NEAR(rbo("abc", "def"), 0, 1e-12);
  EXPECT_NEAR(rbo("a", "ab"), 1, 1e-12);  // as far as the shorter one goes
  EXPECT_NEAR(rbo("", ""), 1, 1e-12);
  EXPECT_NEAR(rbo("", "a"), 0, 1e-12);
}

TEST(RankAgreement, RboWeighsDepthsByTheirPersistence) {
  // Agreement is 0 at depth 1 and whole below it: 1 - (1 - p).
  EXPECT_NEAR(rbo("ab", "ba"), 0.9, 1e-12);
  // Further agreement changes nothing: the extrapolation presumes it.
  EXPECT_NEAR(rbo("abcdefghij", "bacdefghij"), 0.9, 1e-12);
  // Depth 1 whole, depths below half: (1 - p) + p / 2.
  EXPECT_NEAR(rbo("ab", "ac"), 0.1 + 0.45, 1e-12);
  EXPECT_GT(rbo("abcdefgh", "abcdefhg"), rbo("abcdefgh", "bacdefgh"));
}

TEST(RankAgreement, RboOfListsOfAnyLength_IsTheEquationWrittenOut) {
  std::mt19937 random(3);
  const std::string all = "abcdefghijklmnopqrst";
  for (int trial = 0; trial < 50; ++trial) {
    std::string a = all, b = all;
    std::shuffle(a.begin(), a.end(), random);
    std::shuffle(b.begin(), b.end(), random);
    a.resize(1 + random() % 12);
    b.resize(a.size() + random() % 8);
    const double p = 0.9;
    const auto overlap = [&](std::size_t depth) {
      return static_cast<double>(std::count_if(
          a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(depth, a.size())),
          [&](char letter) { return b.substr(0, depth).find(letter) != std::string::npos; }));
    };
    const auto s = static_cast<double>(a.size()), l = static_cast<double>(b.size());
    double sum = 0;
    for (std::size_t d = 1; d <= b.size(); ++d) {
      const auto depth = static_cast<double>(d);
      sum += overlap(d) / depth * std::pow(p, depth);
      if (d > a.size()) sum += overlap(a.size()) * (depth - s) / (s * depth) * std::pow(p, depth);
    }
    const double x_s = overlap(a.size()), x_l = overlap(b.size());
    const double expected = (1 - p) / p * sum + ((x_l - x_s) / l + x_s / s) * std::pow(p, l);
    EXPECT_NEAR(rbo(a, b), expected, 1e-12) << a << " " << b;
    EXPECT_NEAR(rbo(b, a), expected, 1e-12);
  }
}

TEST(RankAgreement, TauUsesTheCommonDocuments) {
  const auto tau = [](const std::string& a, const std::string& b) {
    return compare_rankings(ranking(a), ranking(b)).tau;
  };
  EXPECT_DOUBLE_EQ(*tau("abcd", "abcd"), 1);
  EXPECT_DOUBLE_EQ(*tau("abcd", "dcba"), -1);
  EXPECT_DOUBLE_EQ(*tau("abcd", "abdc"), 1 - 2 / 6.0);
  EXPECT_DOUBLE_EQ(*tau("axbcd", "abydc"), 1 - 2 / 6.0);
  EXPECT_FALSE(tau("ab", "ac"));
  std::mt19937 random(5);
  std::string a = "abcdefghijklmnopqrstuvwxyz", b = a;
  std::shuffle(b.begin(), b.end(), random);
  int apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) apart += b.find(a[i]) > b.find(a[j]) ? 1 : 0;
  }
  EXPECT_DOUBLE_EQ(*tau(a, b), 1 - 2 * apart / 325.0);
}

TEST(RankAgreement, MovesAtTheTopComeFirst) {
  const RankAgreement agreement = compare_rankings(ranking("abcdefgh"), ranking("bacdehx"));
  ASSERT_EQ(agreement.moves.size(), 6U);
  EXPECT_EQ(agreement.moves[0].id, "a");
  EXPECT_EQ(agreement.moves[0].from, 1);
  EXPECT_EQ(agreement.moves[0].to, 2);
  EXPECT_EQ(agreement.moves[1].id, "b");
  const auto came = std::ranges::find(agreement.moves, "x", &RankAgreement::Move::id);
  ASSERT_NE(came, agreement.moves.end());
  EXPECT_EQ(came->from, 0);
  const auto left = std::ranges::find(agreement.moves, "f", &RankAgreement::Move::id);
  ASSERT_NE(left, agreement.moves.end());
  EXPECT_EQ(left->to, 0);
}

}  // namespace
}  // namespace attnscope::effectiveness
