// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/head_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/pattern/compile_plan.h"
#include "tests/inspect/dump_bytes.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;

/// The small dump and weights of its first layer.
class HeadSummaryTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<const HeadWeights> weights_of(
      const char* pattern, std::optional<Window> window = std::nullopt) const {
    const DumpInfo& info = dump.info();
    auto mask = std::make_shared<const Mask>(
        *compile_plan(*find_pattern(pattern), window, info.layout, info.heads));
    return std::make_shared<const HeadWeights>(
        std::make_shared<const HeadVectors>(*dump.head(0, 1)), mask, 1, info.scale);
  }

  const Dump dump = small_dump().read().value();
  const std::vector<TokenGroup>& groups = dump.info().groups;
};
using Matrix = std::vector<std::vector<double>>;

/// NaN where a pair is not allowed.
Matrix matrix_of(const WeightRows& weights) {
  const auto n = static_cast<std::size_t>(weights.tokens());
  Matrix matrix(n, std::vector<double>(n, NAN));
  RowWeights row;
  for (std::size_t i = 0; i < n; ++i) {
    weights.row(static_cast<std::int64_t>(i), row);
    for (const TokenRange& keys : row.keys) {
      for (std::int64_t j = keys.begin; j < keys.end; ++j) {
        matrix[i][static_cast<std::size_t>(j)] =
            static_cast<double>(row.weights[static_cast<std::size_t>(j)]);
      }
    }
  }
  return matrix;
}

double or_zero(double value) {
  return std::isnan(value) ? 0 : value;
}

TEST_F(HeadSummaryTest, GroupMassIsTheMeanOverAttendingTokens) {
  const auto weights = weights_of("sparse", Window::of(1));
  const Matrix matrix = matrix_of(*weights);
  const auto summary = summarise(*weights, groups, {}, {});
  ASSERT_TRUE(summary);
  EXPECT_THAT(summary->rows, ElementsAre(1, 3, 8, 0));
  double query_on_document = 0;
  double document_on_query = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t j = 0; j < 12; ++j) {
      if (i >= 1 && i < 4 && j >= 4) query_on_document += or_zero(matrix[i][j]) / 3;
      if (i >= 4 && j >= 1 && j < 4) document_on_query += or_zero(matrix[i][j]) / 8;
    }
  }
  EXPECT_NEAR(summary->mass(TokenGroup::query, TokenGroup::document), query_on_document, 1e-9);
  EXPECT_NEAR(summary->mass(TokenGroup::document, TokenGroup::query), document_on_query, 1e-9);
  for (const TokenGroup from : {TokenGroup::cls, TokenGroup::query, TokenGroup::document}) {
    double all = 0;
    for (const TokenGroup to : token_groups) all += summary->mass(from, to);
    EXPECT_NEAR(all, 1, 1e-6);
  }
}

TEST_F(HeadSummaryTest, ReceivedMassSumsToTheNumberOfRows) {
  const auto weights = weights_of("full");
  const auto summary = summarise(*weights, groups, {}, {});
  const auto& received = summary->received[static_cast<std::size_t>(TokenGroup::document)];
  double sum = 0;
  for (const double mass : received) sum += mass;
  EXPECT_NEAR(sum, 8, 1e-5);
  const std::vector<TokenRange> rows{{4, 12}};
  const auto again = received_from(*weights, rows, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rows, 8);
  for (std::size_t j = 0; j < received.size(); ++j) {
    EXPECT_NEAR(again->mass[j], received[j] / 8, 1e-12);
  }
}

TEST_F(HeadSummaryTest, SelectionOfSeveralRangesIsTheirMeanRow) {
  const auto weights = weights_of("full");
  const Matrix matrix = matrix_of(*weights);
  const std::vector<TokenRange> rows{{0, 2}, {7, 8}};
  const auto received = received_from(*weights, rows, {});
  for (std::size_t j = 0; j < 12; ++j) {
    EXPECT_NEAR(received->mass[j], (matrix[0][j] + matrix[1][j] + matrix[7][j]) / 3, 1e-7);
  }
}

TEST_F(HeadSummaryTest, SampledRowsRepresentTheirGroup) {
  const auto weights = weights_of("full");
  const auto summary = summarise(*weights, groups, {.rows_of_a_group = 2}, {});
  EXPECT_THAT(summary->rows, ElementsAre(1, 2, 2, 0));
  double all = 0;
  for (const TokenGroup to : token_groups) all += summary->mass(TokenGroup::document, to);
  EXPECT_NEAR(all, 1, 1e-6);
}

TEST_F(HeadSummaryTest, PooledCellsHaveTheLargestWeightOfTheirPairs) {
  const auto weights = weights_of("sparse", Window::of(1));
  const Matrix matrix = matrix_of(*weights);
  for (const MapRegion& region :
       {MapRegion{{0, 12}, {0, 12}, 5, 7}, MapRegion{{3, 11}, {2, 12}, 8, 10},
        MapRegion{{0, 12}, {0, 12}, 1, 1}}) {
    const auto map = pool_region(*weights, region, {});
    ASSERT_TRUE(map);
    for (std::int64_t y = 0; y < region.height; ++y) {
      for (std::int64_t x = 0; x < region.width; ++x) {
        double largest = NAN;
        const TokenRange rows = map->rows_of(y);
        const TokenRange columns = map->columns_of(x);
        ASSERT_FALSE(rows.empty());
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
          for (std::int64_t j = columns.begin; j < columns.end; ++j) {
            largest = std::fmax(largest,
                                matrix[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
          }
        }
        const auto cell = static_cast<double>(map->cell(y, x));
        EXPECT_TRUE(std::isnan(largest) ? std::isnan(cell) : cell == largest)
            << "cell " << y << ", " << x << ": " << cell << ", not " << largest;
      }
    }
  }
}

TEST_F(HeadSummaryTest, RepeatedPoolingKeepsTheMaximum) {
  const auto weights = weights_of("sparse", Window::of(0));
  const auto whole = pool_region(*weights, {{0, 12}, {0, 12}, 12, 12}, {});
  const MapRegion region{{0, 12}, {0, 12}, 4, 3};
  const auto direct = pool_region(*weights, region, {});
  const PooledMap twice = whole->pooled(region);
  for (std::int64_t y = 0; y < 4; ++y) {
    for (std::int64_t x = 0; x < 3; ++x) {
      const float a = direct->cell(y, x);
      const float b = twice.cell(y, x);
      EXPECT_TRUE(std::isnan(a) ? std::isnan(b) : a == b);
    }
  }
  EXPECT_EQ(twice.largest(), whole->largest());
}

TEST_F(HeadSummaryTest, KeptMassIsOnPairsAllowedByTheOtherPattern) {
  const auto full = weights_of("full");
  const auto sparse = weights_of("sparse", Window::of(1));
  const Matrix a = matrix_of(*full);
  const Matrix b = matrix_of(*sparse);
  double query = 0;
  double all = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t j = 0; j < 12; ++j) {
      if (std::isnan(b[i][j])) continue;
      all += a[i][j] / 12;
      if (i >= 1 && i < 4) query += a[i][j] / 3;
    }
  }
  const auto kept = kept_mass(*full, *sparse, groups, {});
  ASSERT_TRUE(kept);
  EXPECT_NEAR(kept->all, all, 1e-9);
  EXPECT_NEAR(kept->by_group[static_cast<std::size_t>(TokenGroup::query)], query, 1e-9);
  EXPECT_NEAR(kept->by_group[static_cast<std::size_t>(TokenGroup::cls)], 1, 1e-6);
  EXPECT_NEAR(kept_mass(*sparse, *full, groups, {})->all, 1, 1e-6);
}

TEST_F(HeadSummaryTest, StoppedFunctionsReturnNothing) {
  const auto weights = weights_of("full");
  const Stopped stopped = [] { return true; };
  const std::vector<TokenRange> rows{{0, 12}};
  EXPECT_FALSE(summarise(*weights, groups, {}, stopped));
  EXPECT_FALSE(received_from(*weights, rows, stopped));
  EXPECT_FALSE(kept_mass(*weights, *weights, groups, stopped));
  EXPECT_FALSE(pool_region(*weights, {{0, 12}, {0, 12}, 4, 4}, stopped));
}

}  // namespace
}  // namespace attnscope
