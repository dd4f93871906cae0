// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "engine/effectiveness/measures.h"

namespace attnscope::effectiveness {
namespace {

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
