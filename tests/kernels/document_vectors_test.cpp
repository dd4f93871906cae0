// SPDX-License-Identifier: Apache-2.0
//
// Products with rows of every format, by every instruction set, against float64.
#include "kernels/cpu/document_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/plan/number_formats.h"
#include "tests/kernels/every_set.h"

namespace attnscope::testing {
namespace {

using ::testing::HasSubstr;

/// Stored rows, and the numbers that they represent.
struct Kept {
  VectorFormat format;
  std::int64_t width;
  std::vector<std::byte> bytes;
  std::vector<float> scales;
  std::vector<double> values;

  [[nodiscard]] std::int64_t rows() const {
    return static_cast<std::int64_t>(values.size()) / width;
  }
  [[nodiscard]] cpu::VectorRows view() const {
    return {.data = bytes.data(),
            .format = format,
            .width = width,
            .rows = rows(),
            .scales = scales.empty() ? nullptr : scales.data()};
  }
};

void keep(Kept& kept, std::size_t i, float value) {
  switch (kept.format) {
    case VectorFormat::float32:
      write_value(kept.bytes.data(), DType::float32, static_cast<std::int64_t>(i), value);
      kept.values[i] = value;
      return;
    case VectorFormat::float16:
    case VectorFormat::bfloat16: {
      const DType dtype = kept.format == VectorFormat::float16 ? DType::float16 : DType::bfloat16;
      write_value(kept.bytes.data(), dtype, static_cast<std::int64_t>(i), value);
      kept.values[i] = read_value(kept.bytes.data(), dtype, static_cast<std::int64_t>(i));
      return;
    }
    case VectorFormat::int8: {
      const float scale = kept.scales[i / index(kept.width)];
      const auto whole = static_cast<std::int8_t>(std::clamp(value * 40, -127.0F, 127.0F));
      kept.bytes[i] = static_cast<std::byte>(whole);
      kept.values[i] = static_cast<double>(whole) * scale;
    }
  }
}

Kept rows_of(VectorFormat format, std::int64_t rows, std::int64_t width) {
  const std::vector<float> values = drawn(rows * width, 5);
  Kept kept{.format = format,
            .width = width,
            .bytes = std::vector<std::byte>(index(rows * width * attnscope::size_of(format))),
            .scales = {},
            .values = std::vector<double>(values.size())};
  if (format == VectorFormat::int8) {
    for (std::int64_t r = 0; r < rows; ++r)
      kept.scales.push_back(0.01F * static_cast<float>(r % 7 + 1));
  }
  for (std::size_t i = 0; i < values.size(); ++i) keep(kept, i, values[i]);
  return kept;
}

std::vector<float> workspace_for(const cpu::VectorRows& rows, std::int64_t queries, int threads) {
  return std::vector<float>(
      index(cpu::vector_workspace_floats(rows.width, queries, std::max(threads, 1))));
}

Status products_of(const cpu::VectorRows& rows, std::span<const std::int64_t> numbers,
                   std::span<const float> queries, std::int64_t count, std::span<float> products,
                   int threads) {
  std::vector<float> workspace = workspace_for(rows, count, threads);
  return cpu::row_products(rows, numbers, queries, count, products, threads, workspace);
}

Status largest_of(const cpu::VectorRows& rows, std::span<const TokenRange> documents,
                  std::span<const float> queries, std::int64_t count, float least,
                  std::span<float> largest, int threads) {
  std::vector<float> workspace = workspace_for(rows, count, threads);
  return cpu::largest_products(rows, documents, queries, count, least, largest, threads, workspace);
}

ExactSum product_of(const Kept& kept, std::int64_t row, std::span<const float> queries,
                    std::int64_t query) {
  ExactSum product;
  for (std::int64_t c = 0; c < kept.width; ++c) {
    product.add(kept.values[index(row * kept.width + c)] *
                static_cast<double>(queries[index(query * kept.width + c)]));
  }
  return product;
}

struct Shape {
  VectorFormat format;
  std::int64_t rows, width, queries;
};

std::string name_of_shape(const ::testing::TestParamInfo<Shape>& of) {
  static constexpr std::array names{"float32", "float16", "bfloat16", "int8"};
  return fmt::format("{}_{}rows_of_{}_by_{}", names[static_cast<std::size_t>(of.param.format)],
                     of.param.rows, of.param.width, of.param.queries);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const VectorFormat format :
       {VectorFormat::float32, VectorFormat::float16, VectorFormat::bfloat16, VectorFormat::int8}) {
    for (const std::int64_t width : {1, 5, 16, 67, 128, 768}) {
      for (const std::int64_t queries : {1, 2, 15, 20, 33, 64}) {
        all.push_back({format, 37, width, queries});
      }
    }
    all.push_back({format, 600, 128, 20});
  }
  return all;
}

class DocumentVectors : public ::testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Every, DocumentVectors, ::testing::ValuesIn(shapes()), name_of_shape);

TEST_P(DocumentVectors, ProductsAgreeWithFloat64) {
  const auto [format, rows, width, queries] = GetParam();
  const Kept kept = rows_of(format, rows, width);
  const std::vector<float> query = drawn(queries * width, 9);
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < rows; ++i) numbers.push_back((i * 5) % rows);
  by_every_set([&] {
    std::vector<float> products = unwritten(rows * queries);
    ASSERT_TRUE(products_of(kept.view(), numbers, query, queries, products, 2));
    double worst = -INFINITY;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      for (std::int64_t q = 0; q < queries; ++q) {
        const double found = products[i * index(queries) + q];
        worst = std::max(worst, product_of(kept, numbers[i], query, q).beyond(found));
      }
    }
    EXPECT_LE(worst, 0);
  });
}

TEST_P(DocumentVectors, LargestProductsAgreeWithFloat64) {
  const auto [format, rows, width, queries] = GetParam();
  const Kept kept = rows_of(format, rows, width);
  const std::vector<float> query = drawn(queries * width, 9);
  const std::vector<TokenRange> documents{{0, rows}, {3, 4}, {5, 5}, {7, 20}, {1, 18}};
  for (const float least : {0.0F, -inf}) {
    by_every_set([&] {
      std::vector<float> largest(documents.size() * index(queries), nan);
      ASSERT_TRUE(largest_of(kept.view(), documents, query, queries, least, largest, 2));
      for (std::size_t d = 0; d < documents.size(); ++d) {
        for (std::int64_t q = 0; q < queries; ++q) {
          ExactSum expected{.value = least};
          for (std::int64_t r = documents[d].begin; r < documents[d].end; ++r) {
            const ExactSum product = product_of(kept, r, query, q);
            expected.bound = std::max(expected.bound, product.bound);
            expected.value = std::max(expected.value, product.value);
          }
          const double found = largest[d * index(queries) + q];
          if (std::isinf(expected.value)) {
            EXPECT_EQ(found, expected.value);
          } else {
            EXPECT_LE(expected.beyond(found), 0) << d << ' ' << q;
          }
        }
      }
    });
  }
}

TEST(DocumentVectorsOfPlantedNaN, AreNaNInTheirProductsAndMaxima) {
  constexpr std::int64_t width = 40;
  for (const VectorFormat format :
       {VectorFormat::float32, VectorFormat::float16, VectorFormat::bfloat16, VectorFormat::int8}) {
    for (const std::int64_t queries : {1, 20}) {
      for (const std::int64_t bad : {0, 4, 11, 29}) {
        Kept kept = rows_of(format, 30, width);
        if (format == VectorFormat::int8) {
          kept.scales[index(bad)] = nan;
        } else {
          keep(kept, index(bad * width + 39), nan);
        }
        const std::vector<float> query = drawn(queries * width, 9);
        const std::vector<TokenRange> documents{{0, 30}, {bad, bad + 1}, {0, bad}};
        by_every_set([&] {
          std::vector<float> largest(3 * index(queries), 0);
          ASSERT_TRUE(largest_of(kept.view(), documents, query, queries, 0.0F, largest, 1));
          for (std::size_t i = 0; i < largest.size(); ++i) {
            EXPECT_EQ(std::isnan(largest[i]), i < 2 * index(queries)) << bad << ' ' << i;
          }
          const std::vector<std::int64_t> numbers{bad, (bad + 1) % 30};
          std::vector<float> products(2 * index(queries), 0);
          ASSERT_TRUE(products_of(kept.view(), numbers, query, queries, products, 1));
          EXPECT_TRUE(std::isnan(products.front()));
          EXPECT_FALSE(std::isnan(products.back()));
        });
      }
    }
  }
}

TEST(DocumentVectorsThreads, DoNotChangeTheResults) {
  const Kept kept = rows_of(VectorFormat::float32, 1000, 96);
  const std::vector<float> query = drawn(20 * 96, 9);
  std::vector<std::int64_t> numbers(1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  std::vector<TokenRange> documents;
  for (std::int64_t d = 0; d < 100; ++d) documents.push_back({10 * d, 10 * d + 10});
  std::vector<float> one(20000), three(20000), largest_one(2000), largest_three(2000);
  ASSERT_TRUE(products_of(kept.view(), numbers, query, 20, one, 1));
  ASSERT_TRUE(products_of(kept.view(), numbers, query, 20, three, 3));
  EXPECT_EQ(one, three);
  ASSERT_TRUE(largest_of(kept.view(), documents, query, 20, 0, largest_one, 1));
  ASSERT_TRUE(largest_of(kept.view(), documents, query, 20, 0, largest_three, 3));
  EXPECT_EQ(largest_one, largest_three);
}

TEST(DocumentVectorsSizes, AreRefusedIfTheyContradictEachOther) {
  const Kept kept = rows_of(VectorFormat::float32, 4, 8);
  const std::vector<float> query = drawn(8, 1);
  std::vector<float> one(1), two(2);
  const std::vector<std::int64_t> first{0}, beyond{4};
  EXPECT_THAT(error_of(products_of(kept.view(), beyond, query, 1, one, 1)),
              HasSubstr("row 4 does not exist; there are 4"));
  EXPECT_THAT(error_of(products_of(kept.view(), first, query, 1, two, 1)),
              HasSubstr("the output has 2 floats, and 1 are needed"));
  EXPECT_THAT(error_of(products_of(kept.view(), first, query, 2, two, 1)),
              HasSubstr("2 queries of 8 numbers are 16 floats, not 8"));
  EXPECT_THAT(error_of(products_of(kept.view(), first, query, 1, one, 0)),
              HasSubstr("at least 1 thread"));
  const std::vector<TokenRange> outside{{2, 5}};
  EXPECT_THAT(error_of(largest_of(kept.view(), outside, query, 1, 0, one, 1)),
              HasSubstr("rows 2 to 5 do not exist; there are 4"));
  std::vector<float> nothing;
  EXPECT_THAT(error_of(cpu::row_products(kept.view(), first, query, 1, one, 1, nothing)),
              HasSubstr("the workspace has 0 floats"));
  cpu::VectorRows unscaled = kept.view();
  unscaled.format = VectorFormat::int8;
  EXPECT_THAT(error_of(products_of(unscaled, first, query, 1, one, 1)),
              HasSubstr("int8 need one scale each"));
}

}  // namespace
}  // namespace attnscope::testing
