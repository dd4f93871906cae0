// SPDX-License-Identifier: Apache-2.0
//
// Conversions to and from 16-bit numbers agree with those of engine/attention, which are tested
// against LibTorch's.
#include "tests/cuda_on_host/sixteen_bit.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "kernels/base/number_formats.h"

namespace attnscope::on_host {
namespace {

/// Random bit patterns, and those about which rounding turns.
std::vector<float> some_numbers() {
  std::vector<float> all{0.0F,
                         -0.0F,
                         65504.0F,
                         65519.9F,
                         65520.0F,
                         -65520.0F,
                         0x1p-24F,
                         0x1p-25F,
                         0x1.8p-25F,
                         0x1p-26F,
                         0x1.ffcp-15F,
                         0x1.ffep-15F,
                         0x1p-14F,
                         1.0009765625F,
                         1.00048828125F,
                         1.00146484375F,
                         std::numeric_limits<float>::max(),
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()};
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 100000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(x)) all.push_back(x);
    all.push_back(normal(random));
  }
  return all;
}

std::uint16_t bits_of(float x, DType dtype) {
  std::uint16_t bits = 0;
  write_value(reinterpret_cast<std::byte*>(&bits), dtype, 0, x);
  return bits;
}

TEST(Half, RoundsToNearest) {
  for (const float x : some_numbers()) {
    ASSERT_EQ(__float2half_rn(x).bits, bits_of(x, DType::float16)) << x;
  }
}

TEST(Bfloat16, RoundsToNearest) {
  for (const float x : some_numbers()) {
    ASSERT_EQ(__float2bfloat16_rn(x).bits, bits_of(x, DType::bfloat16)) << x;
  }
}

TEST(Half, HasTheValuesOfItsBits) {
  for (int i = 0; i < 1 << 16; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float expected = read_value(reinterpret_cast<const std::byte*>(&bits), DType::float16, 0);
    const float actual = __half2float({bits});
    ASSERT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected))) << i;
  }
}

TEST(NotANumber, StaysNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(__half2float(__float2half_rn(nan))));
  EXPECT_TRUE(std::isnan(__bfloat162float(__float2bfloat16_rn(nan))));
}

}  // namespace
}  // namespace attnscope::on_host
