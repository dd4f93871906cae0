// SPDX-License-Identifier: Apache-2.0
#include "kernels/plan/number_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

namespace attnscope {
namespace {

template <typename Read, typename Write>
void expect_round_trips(const Read& read, const Write& write, std::uint32_t exponent) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const float value = read(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_EQ(bits & exponent, exponent);
      EXPECT_TRUE(std::isnan(read(write(value))));
    } else {
      ASSERT_EQ(write(value), bits);
    }
  }
}

TEST(NumberFormats, EveryValueRoundTrips) {
  expect_round_trips(float_from_float16, float16_from_float, 0x7C00U);
  expect_round_trips(float_from_bfloat16, bfloat16_from_float, 0x7F80U);
}

TEST(NumberFormats, KnownFloat16ValuesAreRead) {
  for (const auto& [bits, value] : {std::pair{0x3C00, 1.0F},
                                    {0xC000, -2.0F},
                                    {0x7BFF, 65504.0F},
                                    {0x0001, 0x1p-24F},
                                    {0x0400, 0x1p-14F},
                                    {0xFC00, -std::numeric_limits<float>::infinity()}}) {
    EXPECT_EQ(float_from_float16(static_cast<std::uint16_t>(bits)), value);
  }
}

TEST(NumberFormats, HalfwayValuesRoundToEven_AndLargeOnesBecomeInfinite) {
  for (const auto& [value, bits] : {std::pair{1.0F + 0x1p-11F, 0x3C00},
                                    {1.0F + 3 * 0x1p-11F, 0x3C02},
                                    {1.0F + 0x1p-11F + 0x1p-20F, 0x3C01},
                                    {0x1p-25F, 0x0000},
                                    {3 * 0x1p-25F, 0x0002},
                                    {65519.0F, 0x7BFF},
                                    {65520.0F, 0x7C00},
                                    {-1e30F, 0xFC00}}) {
    EXPECT_EQ(float16_from_float(value), bits) << value;
  }
  for (const auto& [value, bits] : {std::pair{1.0F + 0x1p-8F, 0x3F80},
                                    {1.0F + 3 * 0x1p-8F, 0x3F82},
                                    {std::numeric_limits<float>::max(), 0x7F80}}) {
    EXPECT_EQ(bfloat16_from_float(value), bits) << value;
  }
}

}  // namespace
}  // namespace attnscope
