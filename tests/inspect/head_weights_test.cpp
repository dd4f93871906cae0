// SPDX-License-Identifier: Apache-2.0
//
// Weights against a softmax in float64 over the pairs that the oracle allows.
#include "engine/inspect/head_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "engine/pattern/compile_plan.h"
#include "engine/pattern/oracle.h"

namespace attnscope {
namespace {

struct Problem {
  SequenceLayout layout;
  AttentionPattern pattern;
  std::optional<Window> window;
  std::vector<float> q, k;
  std::int64_t head_dim = 0;
  double scale = 0;
  std::shared_ptr<const HeadVectors> vectors;

  [[nodiscard]] std::shared_ptr<const HeadWeights> weights(std::int32_t head = 0) const {
    auto mask = std::make_shared<const Mask>(*compile_plan(pattern, window, layout, 4));
    return std::make_shared<const HeadWeights>(vectors, mask, head, scale);
  }

  /// 0 where the pair is not allowed.
  [[nodiscard]] std::vector<double> exact_row(std::int64_t query, std::int32_t head = 0) const {
    const Oracle oracle(pattern, window, layout);
    std::vector<double> row(static_cast<std::size_t>(layout.tokens()), 0.0);
    double sum = 0;
    double largest = -INFINITY;
    const auto score = [&](std::int64_t key) {
      double dot = 0;
      for (std::int64_t d = 0; d < head_dim; ++d) {
        dot += static_cast<double>(q[static_cast<std::size_t>(query * head_dim + d)]) *
               static_cast<double>(k[static_cast<std::size_t>(key * head_dim + d)]);
      }
      return dot * scale;
    };
    for (std::int64_t j = 0; j < layout.tokens(); ++j) {
      if (oracle.allowed(head, query, j)) largest = std::max(largest, score(j));
    }
    for (std::int64_t j = 0; j < layout.tokens(); ++j) {
      if (!oracle.allowed(head, query, j)) continue;
      row[static_cast<std::size_t>(j)] = std::exp(score(j) - largest);
      sum += row[static_cast<std::size_t>(j)];
    }
    for (double& weight : row) weight /= sum > 0 ? sum : 1;
    return row;
  }
};

Problem problem(const char* pattern, std::optional<Window> window, std::int64_t document,
                std::int64_t head_dim, double spread) {
  Problem made;
  made.layout = SequenceLayout::uniform(1, {.cls = 1, .query = 7, .documents = {document}});
  made.pattern = *find_pattern(pattern);
  made.window = window;
  made.head_dim = head_dim;
  made.scale = 1 / std::sqrt(static_cast<double>(head_dim));
  std::mt19937 random(11);
  const auto fill = [&](std::vector<float>& values) {
    for (std::int64_t i = 0; i < made.layout.tokens() * head_dim; ++i) {
      values.push_back(static_cast<float>(
          spread * (static_cast<double>(random()) / static_cast<double>(UINT32_MAX) * 2 - 1)));
    }
  };
  fill(made.q);
  fill(made.k);
  auto vectors = std::make_shared<HeadVectors>(made.layout.tokens(), head_dim);
  vectors->set(made.q, made.k);
  made.vectors = vectors;
  return made;
}

/// Random blocks, which each head has of its own.
Problem random_blocks() {
  Problem made = problem("bigbird", std::nullopt, 300, 8, 3);
  made.pattern.blocks = BlockRule{.length = 8, .random = 2, .seed = 3};
  return made;
}

/// DESIGN 5: 4 u(float32) + 2e-6, relative to the largest value, here 1.
constexpr double bound = 4 * 0x1p-24 + 2e-6;

/// The weights of a row by key, 0 where a pair is not allowed.
std::vector<double> by_key(const RowWeights& row, std::size_t tokens) {
  std::vector<double> weights(tokens, 0.0);
  for (const TokenRange& keys : row.keys) {
    for (auto j = static_cast<std::size_t>(keys.begin); j < static_cast<std::size_t>(keys.end); ++j)
      weights[j] = static_cast<double>(row.weights[j]);
  }
  return weights;
}

void expect_exact(const Problem& problem, std::int32_t head = 0) {
  const auto weights = problem.weights(head);
  RowWeights row;
  for (std::int64_t query = 0; query < problem.layout.tokens(); ++query) {
    weights->row(query, row);
    const std::vector<double> exact = problem.exact_row(query, head);
    const std::vector<double> ours = by_key(row, exact.size());
    EXPECT_NEAR(std::accumulate(ours.begin(), ours.end(), 0.0), 1, bound) << "row " << query;
    for (std::size_t j = 0; j < exact.size(); ++j) {
      ASSERT_NEAR(ours[j], exact[j], bound) << "row " << query << ", key " << j;
    }
  }
}

TEST(HeadWeights, AreTheSoftmaxOfTheScoresOfAllowedKeys) {
  expect_exact(problem("full", std::nullopt, 150, 64, 3));
  expect_exact(problem("full", std::nullopt, 60, 32, 60));  // distant scores do not overflow
  for (const std::int64_t dim : {1, 7, 8, 9, 17})
    expect_exact(problem("full", std::nullopt, 20, dim, 2));
  for (const std::int64_t window : {0, 4, 40})
    expect_exact(problem("sparse", Window::of(window), 90, 32, 3));
  expect_exact(problem("longformer", Window::of(5), 90, 16, 3));
  const Problem blocks = random_blocks();
  expect_exact(blocks, 1);
  expect_exact(blocks, 3);
}

TEST(HeadWeights, GlobalRowsUseTheirOwnKeys) {
  Problem made = problem("full", std::nullopt, 10, 8, 2);
  auto vectors = std::make_shared<HeadVectors>(made.layout.tokens(), 8);
  vectors->set(made.q, made.k);
  const std::vector<std::int64_t> rows{0};
  vectors->set_global(rows, made.k, made.q);  // some other numbers
  made.vectors = vectors;
  const auto weights = made.weights();
  RowWeights row;
  weights->row(1, row);
  EXPECT_NEAR(static_cast<double>(row.weights[3]), made.exact_row(1)[3], bound);
  weights->row(0, row);
  std::swap(made.q, made.k);
  EXPECT_NEAR(static_cast<double>(row.weights[3]), made.exact_row(0)[3], bound);
}

TEST(HeadWeights, ScoreIsTheScaledProductOfAnyPair) {
  const Problem made = problem("sparse", Window::of(2), 40, 16, 2);
  const auto weights = made.weights();
  for (const auto& [query, key] : {std::pair(3, 30), std::pair(20, 21)}) {
    double dot = 0;
    for (int d = 0; d < 16; ++d) {
      dot += static_cast<double>(made.q[static_cast<std::size_t>(query * 16 + d)]) *
             static_cast<double>(made.k[static_cast<std::size_t>(key * 16 + d)]);
    }
    EXPECT_NEAR(weights->score(query, key), dot / 4, 1e-9);
  }
}

TEST(MeanWeights, AreTheMeanOverTheKeysOfAnyHead) {
  const Problem made = random_blocks();
  const MeanWeights mean({made.weights(1), made.weights(3)});
  RowWeights row;
  for (const std::int64_t query : {0, 60, 150}) {
    mean.row(query, row);
    const std::vector<double> first = made.exact_row(query, 1), second = made.exact_row(query, 3);
    EXPECT_EQ(row.keys, mean.keys(query));
    const std::vector<double> ours = by_key(row, first.size());
    for (std::size_t j = 0; j < first.size(); ++j) {
      ASSERT_NEAR(ours[j], (first[j] + second[j]) / 2, bound) << query << " " << j;
    }
    EXPECT_NEAR(mean.score(query, 2), made.weights()->score(query, 2), 1e-9);
  }
}

TEST(WeightDifference, IsBMinusAOverTheKeysOfBoth) {
  const Problem full = problem("full", std::nullopt, 40, 16, 2);
  const Problem sparse = problem("sparse", Window::of(2), 40, 16, 2);
  const WeightDifference difference(full.weights(), sparse.weights());
  RowWeights row;
  for (const std::int64_t query : {0, 3, 20}) {
    difference.row(query, row);
    ASSERT_EQ(row.keys, (std::vector<TokenRange>{{0, 48}}));
    const std::vector<double> a = full.exact_row(query);
    const std::vector<double> b = sparse.exact_row(query);
    for (std::size_t j = 0; j < a.size(); ++j) {
      EXPECT_NEAR(static_cast<double>(row.weights[j]), b[j] - a[j], 2 * bound);
    }
  }
}

}  // namespace
}  // namespace attnscope
