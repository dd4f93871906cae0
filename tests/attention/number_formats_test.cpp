// SPDX-License-Identifier: Apache-2.0
#include "kernels/plan/number_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attnscope {
namespace {

TEST(NumberFormats, EveryFloat16ComesBackUnchanged) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const float value = float_from_float16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_EQ(bits & 0x7C00U, 0x7C00U);
      EXPECT_TRUE(std::isnan(float_from_float16(float16_from_float(value))));
    } else {
      ASSERT_EQ(float16_from_float(value), bits);
    }
  }
}

TEST(NumberFormats, EveryBfloat16ComesBackUnchanged) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const float value = float_from_bfloat16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_from_bfloat16(bfloat16_from_float(value))));
    } else {
      ASSERT_EQ(bfloat16_from_float(value), bits);
    }
  }
}

TEST(NumberFormats, KnownFloat16ValuesAreRead) {
  EXPECT_EQ(float_from_float16(0x3C00), 1.0F);
  EXPECT_EQ(float_from_float16(0xC000), -2.0F);
  EXPECT_EQ(float_from_float16(0x7BFF), 65504.0F);
  EXPECT_EQ(float_from_float16(0x0001), 0x1p-24F);
  EXPECT_EQ(float_from_float16(0x0400), 0x1p-14F);
  EXPECT_EQ(float_from_float16(0xFC00), -std::numeric_limits<float>::infinity());
}

TEST(NumberFormats, HalfwayValuesRoundToEven) {
  EXPECT_EQ(float16_from_float(1.0F + 0x1p-11F), 0x3C00);
  EXPECT_EQ(float16_from_float(1.0F + 3 * 0x1p-11F), 0x3C02);
  EXPECT_EQ(float16_from_float(1.0F + 0x1p-11F + 0x1p-20F), 0x3C01);
  EXPECT_EQ(float16_from_float(0x1p-25F), 0x0000);
  EXPECT_EQ(float16_from_float(3 * 0x1p-25F), 0x0002);
  EXPECT_EQ(bfloat16_from_float(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(bfloat16_from_float(1.0F + 3 * 0x1p-8F), 0x3F82);
}

TEST(NumberFormats, ValuesBeyondTheLargestBecomeInfinite) {
  EXPECT_EQ(float16_from_float(65519.0F), 0x7BFF);
  EXPECT_EQ(float16_from_float(65520.0F), 0x7C00);
  EXPECT_EQ(float16_from_float(-1e30F), 0xFC00);
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace attnscope
