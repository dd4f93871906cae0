// SPDX-License-Identifier: Apache-2.0
//
// Compares the layout of tensor-core fragments in registers with CuTe, and their products with
// plain matrix products.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/plan/number_formats.h"
#include "tests/cuda_on_host/device_memory.h"
#include "tests/cuda_on_host/include/ptx_on_host.h"
#include "tests/cuda_on_host/planted_kernels/planted.h"

namespace attnscope::on_host {
namespace {

using cuda::planted::Fragments;

// ---- CuTe (NVIDIA/cutlass, include/cute/atom): layouts as shapes and strides, the first mode
// fastest

struct Mode {
  int size, stride;
};

int offset(const std::vector<Mode>& modes, int index) {
  int sum = 0;
  for (const Mode& mode : modes) {
    sum += index % mode.size * mode.stride;
    index /= mode.size;
  }
  return sum;
}

struct CuteLayout {
  std::vector<Mode> threads, values;
  [[nodiscard]] int at(int lane, int value) const {
    return offset(threads, lane) + offset(values, value);
  }
};

// mma_traits_sm80.hpp, MMA_Traits<SM80_16x8x16_F32F16F16F32_TN>, the same for bfloat16. A and C are
// numbered down their 16 rows, B [N, K] down its 8 columns.
const CuteLayout cute_a{{{4, 32}, {8, 1}}, {{2, 16}, {2, 8}, {2, 128}}};
const CuteLayout cute_b{{{4, 16}, {8, 1}}, {{2, 8}, {2, 64}}};
const CuteLayout cute_c{{{4, 32}, {8, 1}}, {{2, 16}, {2, 8}}};

TEST(Fragments, HaveTheLayoutOfCuTe) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(place_in_a(lane, i).row + 16 * place_in_a(lane, i).column, cute_a.at(lane, i));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(place_in_b(lane, i).column + 8 * place_in_b(lane, i).row, cute_b.at(lane, i));
      EXPECT_EQ(place_in_c(lane, i).row + 16 * place_in_c(lane, i).column, cute_c.at(lane, i));
    }
  }
}

// ---- products

class TensorCores : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Formats, TensorCores, ::testing::Values(DType::float16, DType::bfloat16));

/// The largest difference between the product of random factors by a kernel and the exact one.
double error_of(Fragments fragments, DType dtype) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> a(16 * 16), b(16 * 8);
  auto* const bytes_of_a = reinterpret_cast<std::byte*>(a.data());
  auto* const bytes_of_b = reinterpret_cast<std::byte*>(b.data());
  for (std::int64_t i = 0; i < 16 * 16; ++i) write_value(bytes_of_a, dtype, i, normal(random));
  for (std::int64_t i = 0; i < 16 * 8; ++i) write_value(bytes_of_b, dtype, i, normal(random));
  const DeviceArray<std::uint16_t> device_a("a", std::span<const std::uint16_t>(a));
  const DeviceArray<std::uint16_t> device_b("b", std::span<const std::uint16_t>(b));
  const DeviceArray<float> device_c("c", 16 * 8);
  const Status done = cuda::planted::multiply(
      {device_a.data(), device_b.data(), device_c.data(), fragments}, dtype);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(device_c.written());
  const std::vector<float> c = device_c.values();
  double largest = 0;
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t column = 0; column < 8; ++column) {
      double sum = 0;
      for (std::int64_t k = 0; k < 16; ++k) {
        sum += double{read_value(bytes_of_a, dtype, row * 16 + k)} *
               double{read_value(bytes_of_b, dtype, k * 8 + column)};
      }
      largest = std::max(largest, std::abs(c[static_cast<std::size_t>(row * 8 + column)] - sum));
    }
  }
  return largest;
}

TEST_P(TensorCores, ComputeMatrixProducts) {
  EXPECT_LT(error_of(Fragments::right, GetParam()), 1e-6);
}

TEST_P(TensorCores, AreWrongWithAWrongFragmentIndex) {
  for (const Fragments wrong : {Fragments::registers_of_a_swapped, Fragments::pairs_of_b_swapped,
                                Fragments::halves_of_b_swapped, Fragments::rows_of_c_one_off}) {
    EXPECT_GT(error_of(wrong, GetParam()), 0.1) << static_cast<int>(wrong);
  }
}

// ---- single numbers

TEST(Exp2, IsFlushedToZeroBelowTheSmallestNormalNumber) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float smallest = std::numeric_limits<float>::min();
  const std::vector<std::pair<float, float>> known{{-inf, 0},    {0, 1},      {inf, inf},
                                                   {-126.5F, 0}, {1e-40F, 1}, {-126, smallest}};
  std::vector<float> x(32, -25.8F);
  std::ranges::transform(known, x.begin(), &std::pair<float, float>::first);
  const DeviceArray<float> in("x", std::span<const float>(x));
  const DeviceArray<float> out("y", 32);
  ASSERT_TRUE(cuda::planted::powers({in.data(), out.data()}));
  const std::vector<float> y = out.values();
  for (std::size_t i = 0; i < known.size(); ++i) EXPECT_EQ(y[i], known[i].second) << known[i].first;
  EXPECT_NEAR(y.back() / std::exp2(double{x.back()}), 1, 1e-6);
}

}  // namespace
}  // namespace attnscope::on_host
