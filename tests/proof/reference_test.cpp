// SPDX-License-Identifier: Apache-2.0
#include "engine/proof/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using tests::item;
using tests::SmallProblem;

constexpr double infinity = std::numeric_limits<double>::infinity();

SequenceLayout documents_alone(std::int64_t tokens) {
  return SequenceLayout::uniform(1, item(0, 0, tokens));
}

/// The reference of all rows of head 0, of token-major values.
ReferenceRows reference_of(const SmallProblem& small, const std::vector<float>& q,
                           const std::vector<float>& k, const std::vector<float>& v) {
  const std::int64_t dim = small.problem.head_dim;
  const auto tensor_of = [&](const std::vector<float>& values) {
    return ConstTensor{.data = reinterpret_cast<const std::byte*>(values.data()),
                       .head_dim = dim,
                       .token_stride = dim,
                       .head_stride = dim};
  };
  std::vector<RowId> rows;
  for (std::int64_t token = 0; token < small.layout.tokens(); ++token) rows.push_back({token, 0});
  return compute_reference(small.problem, rows, tensor_of(q), tensor_of(k), tensor_of(v));
}

TEST(Reference, TwoTokensMatchTheManualResult) {
  // Scores of token 0: ln 3 and 0, so the weights are 3/4 and 1/4.
  SmallProblem small("full", std::nullopt, documents_alone(2), 1, 1);
  small.problem.scale = 1;
  const ReferenceRows reference =
      reference_of(small, {static_cast<float>(std::log(3.0)), 0}, {1, 0}, {4, 8});
  EXPECT_NEAR(reference.output[0], 5.0, 1e-6);
  EXPECT_NEAR(reference.output[1], 6.0, 1e-12);
  EXPECT_NEAR(reference.log_sum_exp[0], std::log(4.0), 1e-7);
  EXPECT_EQ(reference.scale_of_error, 8);
}

constexpr std::string_view band = R"({"name":"band","attends":{"document":{"document":"window"}}})";

TEST(Reference, WindowedMatmulIsBothProductsWithoutSoftmax) {
  SmallProblem small(band, Window::of(1), documents_alone(3), 1, 1);
  small.problem.operation = Operation::windowed_matmul;
  small.problem.scale = 2;
  const ReferenceRows reference = reference_of(small, {1, 2, 3}, {1, 10, 100}, {1, 1, 2});
  // 2*(1*1*1 + 1*10*1), 2*2*(1 + 10 + 200), 2*3*(10 + 200)
  EXPECT_THAT(reference.output, testing::ElementsAre(22, 844, 1260));
  EXPECT_TRUE(reference.log_sum_exp.empty());
  EXPECT_EQ(reference.scale_of_error, 1260);
  EXPECT_EQ(reference.rounding_of_sums, std::sqrt(3.0) * 0x1p-24);
}

TEST(Reference, WindowZeroAttendsOnlyToItself) {
  const SmallProblem small(band, Window::of(0), documents_alone(2), 1, 1);
  EXPECT_THAT(reference_of(small, {5, -3}, {5, -3}, {1.5F, -2.5F}).output,
              testing::ElementsAre(1.5, -2.5));
}

TEST(Reference, RowWithoutKeysIsZeroWithMinusInfinity) {
  const SmallProblem small(R"({"name":"deaf","attends":{"document":{"query":"whole"}}})",
                           std::nullopt, documents_alone(2), 1, 1);
  const ReferenceRows reference = reference_of(small, {1, 2}, {1, 2}, {1, 2});
  EXPECT_THAT(reference.output, testing::ElementsAre(0, 0));
  EXPECT_THAT(reference.log_sum_exp, testing::ElementsAre(-infinity, -infinity));
}

TEST(Reference, EveryItemAttendsToASharedQuery) {
  const auto layout = SequenceLayout::make({item(0, 0, 1), item(0, 0, 1)}, 1).value();
  const SmallProblem small(
      R"({"name":"p","attends":{"query":{"query":"whole"},"document":{"query":"whole"}}})",
      std::nullopt, layout, 1, 1);
  EXPECT_THAT(reference_of(small, {1, 2, 3}, {1, 2, 3}, {7, 8, 9}).output,
              testing::ElementsAre(7, 7, 7));
}

TEST(Reference, MeasuresTheScoresWeightedByAttention) {
  // The scores of token 0 are 100 and 0, those of token 1 both 0.
  SmallProblem small("full", std::nullopt, documents_alone(2), 1, 2);
  small.problem.scale = 0.5;
  const ReferenceRows reference = reference_of(small, {6, 8, 0, 0}, {12, 16, 0, 0}, {1, 1, 1, 1});
  EXPECT_NEAR(reference.scores.size, 100, 1e-9);
  EXPECT_NEAR(reference.scores.of_sums, 0.5 * std::hypot(72, 200) * 0x1p-24, 1e-12);
}

ReferenceRows one_row(double value) {
  ReferenceRows reference;
  reference.rows = {{0, 0}};
  reference.head_dim = 1;
  reference.output = {value};
  reference.log_sum_exp = {value};
  reference.scale_of_error = 4;
  return reference;
}

TEST(RelativeError, IsRelativeToTheLargestValueAndInfiniteForValuesThatAreNotFinite) {
  const auto error_of = [](float value) {
    return relative_error(one_row(1), {.data = reinterpret_cast<std::byte*>(&value),
                                       .head_dim = 1,
                                       .token_stride = 1,
                                       .head_stride = 1});
  };
  EXPECT_EQ(error_of(3), 0.5);
  EXPECT_EQ(error_of(std::numeric_limits<float>::quiet_NaN()), infinity);
  EXPECT_EQ(error_of(std::numeric_limits<float>::infinity()), infinity);
}

TEST(LogSumExpError, MinusInfinityMustMatch) {
  const auto error_of = [](double right, float value) {
    return log_sum_exp_error(one_row(right), std::vector{value}, 1);
  };
  constexpr float none = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of(-infinity, none), 0);
  EXPECT_EQ(error_of(1, 2), 1);
  EXPECT_EQ(error_of(1, none), infinity);
  EXPECT_EQ(error_of(-infinity, 2), infinity);
  EXPECT_EQ(error_of(1, std::numeric_limits<float>::quiet_NaN()), infinity);
}

TEST(ErrorBound, IsFourRoundOffsAndAFloor) {
  EXPECT_DOUBLE_EQ(error_bound(DType::float32), 4 * 0x1p-24 + 2e-6);
  EXPECT_DOUBLE_EQ(error_bound(DType::float16), 4 * 0x1p-11 + 2e-6);
  EXPECT_DOUBLE_EQ(error_bound(DType::bfloat16), 4 * 0x1p-8 + 2e-6);
}

TEST(ErrorBound, GrowsOnlyWithLargeScores) {
  const ScoreRounding small{.size = 8, .of_sums = 1e-6}, large{.size = 80, .of_sums = 8e-6};
  EXPECT_EQ(error_bound(DType::float32, small), error_bound(DType::float32));
  EXPECT_EQ(error_bound(DType::bfloat16, small), error_bound(DType::bfloat16));
  EXPECT_DOUBLE_EQ(error_bound(DType::float32, large), 40 * 0x1p-24 + 8e-6);
  EXPECT_DOUBLE_EQ(error_bound(DType::bfloat16, large), 40 * 0x1p-8 + 8e-6);
  EXPECT_DOUBLE_EQ(gradient_error_bound(DType::float32, large), 80 * 0x1p-24 + 1.6e-5);
}

TEST(WorstError, IsTheLargestShareOfItsBound) {
  WorstError worst;
  worst.update(0, 1, "first");
  EXPECT_EQ(worst.tensor, "first");
  worst.update(3, 10, "large");
  worst.update(2, 4, "larger share");
  worst.update(3, 8, "smaller share");
  EXPECT_EQ(worst.tensor, "larger share");
  EXPECT_EQ(worst.error, 2);
  EXPECT_EQ(worst.bound, 4);
  EXPECT_TRUE(worst.is_allowed());
  worst.update(infinity, 10, "not finite");
  EXPECT_FALSE(worst.is_allowed());
  worst.update(1e9, 1, "finite");
  EXPECT_EQ(worst.tensor, "not finite");
}

TEST(SampleRows, SelectsAllRowsIfThereAreFew) {
  EXPECT_EQ(sample_rows(documents_alone(5), 3, 15, 1).size(), 15U);
  EXPECT_TRUE(sample_rows(SequenceLayout(), 3, 15, 1).empty());
}

TEST(SampleRows, SpreadsOverBordersItemsTilesAndHeads) {
  const auto rows = sample_rows(SequenceLayout::uniform(4, item(1, 10, 989)), 12, 256, 7);
  EXPECT_LE(rows.size(), 256U);
  EXPECT_GE(rows.size(), 200U);
  std::set<std::int64_t> tokens, heads, tiles;
  for (const RowId& row : rows) {
    tokens.insert(row.token);
    heads.insert(row.head);
    tiles.insert(row.token / 64);
  }
  for (std::int64_t first = 0; first < 4000; first += 1000) {
    for (const std::int64_t border : {0, 1, 10, 11, 999}) {
      EXPECT_TRUE(tokens.contains(first + border)) << first + border;
    }
  }
  EXPECT_EQ(heads.size(), 12U);
  EXPECT_EQ(tiles.size(), 63U);
}

TEST(SampleRows, NeverExceedsTheCountAndNeverRepeatsARow) {
  const auto layout = SequenceLayout::uniform(100, item(1, 10, 163));
  for (const std::int64_t count : {0, 1, 2, 3, 64, 511}) {
    const auto rows = sample_rows(layout, 12, count, 3);
    EXPECT_LE(static_cast<std::int64_t>(rows.size()), count);
    EXPECT_EQ(rows.empty(), count == 0);
    for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_FALSE(rows[i] == rows[i - 1]);
  }
}

TEST(SampleRows, AreTheSameForTheSameSeed) {
  const auto layout = SequenceLayout::uniform(4, item(1, 10, 989));
  EXPECT_EQ(sample_rows(layout, 12, 64, 5), sample_rows(layout, 12, 64, 5));
  EXPECT_NE(sample_rows(layout, 12, 64, 5), sample_rows(layout, 12, 64, 6));
}

}  // namespace
}  // namespace attnscope
