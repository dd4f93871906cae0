// SPDX-License-Identifier: Apache-2.0
//
// Compares the kernels between the products of dense attention with the formulas in float64.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/pattern/axes.h"
#include "kernels/cuda/dense/softmax.h"
#include "kernels/plan/number_formats.h"
#include "tests/cuda_on_host/device_memory.h"
#include "tests/kernels/cases.h"

namespace attnscope::cuda {
namespace {

using attnscope::testing::unit_roundoff;
using on_host::DeviceArray;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

using Mask = std::vector<std::uint8_t>;

Scores scores_of(std::int64_t columns, DType dtype, std::int64_t masks = 0, std::int64_t rows = 3) {
  return {.items = 2,
          .heads = 2,
          .rows = rows,
          .columns = columns,
          .stride = score_stride(columns, dtype),
          .dtype = dtype,
          .masks = masks};
}

/// Allows half of the pairs and none in row 1.
Mask random_mask(const Scores& shape) {
  std::mt19937 random(7);
  Mask mask(at(shape.masks * shape.rows * shape.stride));
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / shape.stride % shape.rows;
    const bool is_column = static_cast<std::int64_t>(i) % shape.stride < shape.columns;
    mask[i] = is_column && row != 1 && random() % 2 == 0 ? 1 : 0;
  }
  return mask;
}

/// Score matrices and their mask in device memory, with unwritten padding.
struct Matrices {
  Scores shape;
  Mask mask;
  DeviceArray<std::uint8_t> device_mask;
  DeviceArray<std::byte> memory;
  std::vector<float> numbers;  // [matrices, rows, columns], rounded

  Matrices(const std::string& name, const Scores& of, const Mask& mask_in = {})
      : shape(of),
        mask(mask_in),
        device_mask("mask", mask),
        memory(name, count() * of.stride * size_of(of.dtype)) {
    if (!mask.empty()) shape.mask = device_mask.data();
  }

  [[nodiscard]] std::int64_t count() const { return shape.items * shape.heads * shape.rows; }

  void set_row(std::int64_t row, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * at(size_of(shape.dtype)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      write_value(bytes.data(), shape.dtype, static_cast<std::int64_t>(i), values[i]);
      numbers.push_back(read_value(bytes.data(), shape.dtype, static_cast<std::int64_t>(i)));
    }
    memory.set(bytes, row * shape.stride * size_of(shape.dtype));
  }
  void set_every_row(const std::vector<float>& values) {
    for (std::int64_t row = 0; row < count(); ++row) set_row(row, values);
  }
  void set_random(unsigned seed, float deviation) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, deviation);
    std::vector<float> values(at(shape.columns));
    for (std::int64_t row = 0; row < count(); ++row) {
      for (float& value : values) value = normal(random);
      set_row(row, values);
    }
  }
  [[nodiscard]] bool allows(std::int64_t row, std::int64_t column) const {
    if (mask.empty()) return true;
    const std::int64_t head = shape.masks > 1 ? row / shape.rows % shape.heads : 0;
    return mask[at((head * shape.rows + row % shape.rows) * shape.stride + column)] != 0;
  }
  [[nodiscard]] float value(std::int64_t row, std::int64_t column) const {
    return read_value(memory.bytes(), shape.dtype, row * shape.stride + column);
  }
  [[nodiscard]] double number(std::int64_t row, std::int64_t column) const {
    return double{numbers[at(row * shape.columns + column)]};
  }
};

/// The error of a float32 result of magnitude `size` that is rounded to the dtype.
double bound(DType dtype, double size) {
  const double half_of_the_smallest = dtype == DType::float16 ? 0x1p-25 : 0.0;
  return 1.01 * unit_roundoff(dtype) * size + 4e-6 * std::max(size, 1e-3) + half_of_the_smallest;
}

void expect_softmax(std::int64_t columns, DType dtype, std::int64_t masks) {
  const Scores of = scores_of(columns, dtype, masks);
  SCOPED_TRACE(std::to_string(columns) + " columns, " + std::to_string(masks) + " masks, " +
               std::to_string(size_of(dtype)) + " bytes");
  Matrices scores("scores", of, random_mask(of));
  const Scores& shape = scores.shape;
  scores.set_random(3, 4.0F);
  const DeviceArray<float> lse("lse", scores.count());
  const Status status = softmax_forward(shape, scores.memory.bytes(), lse.data(), nullptr);
  ASSERT_TRUE(status) << status.error().message;

  for (std::int64_t row = 0; row < scores.count(); ++row) {
    double highest = -infinity;
    for (std::int64_t c = 0; c < columns; ++c) {
      if (scores.allows(row, c)) highest = std::max(highest, scores.number(row, c));
    }
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      if (scores.allows(row, c)) sum += std::exp(scores.number(row, c) - highest);
    }
    for (std::int64_t c = 0; c < shape.stride; ++c) {
      const bool seen = c < columns && scores.allows(row, c);
      const double expected = seen ? std::exp(scores.number(row, c) - highest) / sum : 0.0;
      ASSERT_NEAR(double{scores.value(row, c)}, expected, seen ? bound(dtype, expected) : 0.0)
          << "row " << row << ", column " << c;
    }
    const std::int64_t item = row / (shape.heads * shape.rows);
    const std::int64_t head = row / shape.rows % shape.heads;
    const std::int64_t place = (item * shape.rows + row % shape.rows) * shape.heads + head;
    const double got = double{lse.values()[at(place)]};
    if (highest == -infinity) {
      ASSERT_EQ(got, -infinity) << "row " << row;
    } else {
      ASSERT_NEAR(got, highest + std::log(sum), 1e-5) << "row " << row;
    }
  }
}

class DenseSoftmax : public ::testing::TestWithParam<DType> {};

// For each kernel: the fewest and the most columns, with and without a partial vector.
constexpr std::int64_t lengths[] = {1, 7, 64, 174, 256, 257, 1024, 1030, 4096, 4100, 8193};

TEST_P(DenseSoftmax, WeightsAndLogarithmsAgreeWithFloat64) {
  for (const std::int64_t columns : lengths) expect_softmax(columns, GetParam(), 0);
}

TEST_P(DenseSoftmax, WeightsOfMaskedPairsAndOfRowsWithoutKeysAreZero) {
  for (const std::int64_t columns : {8, 174, 1040, 4100, 8200}) {
    expect_softmax(columns, GetParam(), 1);
    expect_softmax(columns, GetParam(), 2);
  }
}

TEST_P(DenseSoftmax, NaNInMaskedPairsReachesNoOtherPair) {
  const Scores shape = scores_of(20, GetParam(), 1, 1);
  Mask mask(at(shape.stride), 1);
  mask[4] = 0;
  Matrices scores("scores", shape, mask);
  std::vector<float> values(20, 1.0F);
  values[4] = nan;
  scores.set_every_row(values);
  ASSERT_TRUE(softmax_forward(scores.shape, scores.memory.bytes(), nullptr, nullptr));
  EXPECT_EQ(scores.value(0, 4), 0.0F);
  EXPECT_NEAR(double{scores.value(0, 5)}, 1.0 / 19, bound(GetParam(), 1.0 / 19));
}

TEST_P(DenseSoftmax, LargeScoresDoNotOverflow) {
  Matrices scores("scores", scores_of(3, GetParam(), 0, 1));
  scores.set_every_row({30000.0F, 30000.0F, -30000.0F});
  const DeviceArray<float> lse("lse", scores.count());
  ASSERT_TRUE(softmax_forward(scores.shape, scores.memory.bytes(), lse.data(), nullptr));
  EXPECT_EQ(scores.value(0, 0), 0.5F);
  EXPECT_EQ(scores.value(0, 2), 0.0F);
  EXPECT_NEAR(double{lse.values()[0]}, scores.number(0, 0) + std::log(2.0), 0.01);
}

TEST_P(DenseSoftmax, BackwardIsTheGradientOfTheSoftmax) {
  for (const std::int64_t columns : lengths) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    const Scores shape = scores_of(columns, GetParam());
    Matrices weights("weights", shape);
    Matrices gradients("gradients", shape);
    weights.set_random(5, 1.0F / static_cast<float>(columns));
    gradients.set_random(6, 1.0F);
    const Status status =
        softmax_backward(shape, weights.memory.bytes(), gradients.memory.bytes(), nullptr);
    ASSERT_TRUE(status) << status.error().message;
    for (std::int64_t row = 0; row < weights.count(); ++row) {
      double sum = 0, size = 0;
      for (std::int64_t c = 0; c < columns; ++c) {
        sum += weights.number(row, c) * gradients.number(row, c);
        size += std::abs(weights.number(row, c) * gradients.number(row, c));
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        const double weight = weights.number(row, c);
        const double expected = weight * (gradients.number(row, c) - sum);
        const double error = bound(GetParam(), std::abs(expected)) +
                             1e-6 * std::abs(weight) * (size + std::abs(gradients.number(row, c)));
        ASSERT_NEAR(double{gradients.value(row, c)}, expected, error)
            << "row " << row << ", column " << c;
      }
    }
  }
}

TEST_P(DenseSoftmax, AMaskWithoutASoftmaxZeroesOnlyMaskedPairs) {
  for (const std::int64_t columns : {5, 174, 1032}) {
    const Scores shape = scores_of(columns, GetParam(), 2);
    Matrices scores("scores", shape, random_mask(shape));
    scores.set_random(8, 1.0F);
    ASSERT_TRUE(apply_mask(scores.shape, scores.memory.bytes(), nullptr));
    for (std::int64_t row = 0; row < scores.count(); ++row) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const double expected = scores.allows(row, c) ? scores.number(row, c) : 0.0;
        ASSERT_EQ(double{scores.value(row, c)}, expected) << "row " << row << ", column " << c;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDType, DenseSoftmax, ::testing::ValuesIn(attnscope::testing::dtypes),
                         attnscope::testing::name_of_dtype);

}  // namespace
}  // namespace attnscope::cuda
