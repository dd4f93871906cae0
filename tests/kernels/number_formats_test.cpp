// SPDX-License-Identifier: Apache-2.0
//
// Every instruction set reads and writes float16 and bfloat16: all 65,536 patterns are read, and
// all numbers around which rounding to nearest even changes its result are written.
#include "kernels/plan/number_formats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "engine/pattern/axes.h"
#include "kernels/cpu/segment.h"
#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/plans.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {
namespace {

constexpr std::int64_t patterns = 65536;

struct Format {
  DType dtype;
  int exponent_bits;
  int fraction_bits;
};

/// The number of a pattern by the definition of the format; NaN for all NaNs.
double number_of(const Format& format, std::uint32_t pattern) {
  const int fraction = static_cast<int>(pattern & ((1U << format.fraction_bits) - 1U));
  const int top = (1 << format.exponent_bits) - 1;
  const int exponent = static_cast<int>(pattern >> format.fraction_bits) & top;
  const int bias = top / 2;
  double magnitude = 0;
  if (exponent == top) {
    magnitude = fraction == 0 ? double{inf} : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, 1 - bias - format.fraction_bits);
  } else {
    magnitude =
        std::ldexp(fraction + (1 << format.fraction_bits), exponent - bias - format.fraction_bits);
  }
  return std::copysign(magnitude, (pattern >> 15) != 0 ? -1.0 : 1.0);
}

/// Whether the conversion of an instruction set to this format flushes subnormal numbers to 0, as
/// the bfloat16 instruction of processors does.
bool flushes_subnormals(const std::string& set, const Format& format) {
  return format.dtype == DType::bfloat16 && set == "avx512-bf16";
}

ConstTensor tensor_of(std::span<const std::uint16_t> halves, DType dtype, std::int64_t d) {
  return {reinterpret_cast<const std::byte*>(halves.data()), dtype, d, d, d, 0, 0};
}

/// One row of `d` numbers for every pattern, which is at column `column`; the others are 1.
std::vector<std::uint16_t> all_patterns(DType dtype, std::int64_t d, std::int64_t column) {
  const std::uint16_t one = dtype == DType::float16 ? 0x3c00 : 0x3f80;
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(patterns * d), one);
  for (std::int64_t i = 0; i < patterns; ++i) {
    halves[static_cast<std::size_t>(i * d + column)] = static_cast<std::uint16_t>(i);
  }
  return halves;
}

/// 1 at column `column` of every row, 0 elsewhere.
std::vector<std::uint16_t> unit_rows(DType dtype, std::int64_t d, std::int64_t column) {
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(patterns * d), 0);
  for (std::int64_t i = 0; i < patterns; ++i) {
    halves[static_cast<std::size_t>(i * d + column)] = dtype == DType::float16 ? 0x3c00 : 0x3f80;
  }
  return halves;
}

class NumberFormat : public ::testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Kernels, NumberFormat,
                         ::testing::Values(Format{DType::float16, 5, 10},
                                           Format{DType::bfloat16, 8, 7}),
                         [](const auto& parameter) {
                           return std::string(attnscope::name_of(parameter.param.dtype));
                         });

TEST_P(NumberFormat, EveryPatternIsWidenedExactly) {
  const DType dtype = GetParam().dtype;
  const std::vector<TokenRange> sequences{{0, patterns}};
  // A single number; the first vector of a row; the rest after the whole vectors of a row.
  for (const auto& [dims, column] : {std::pair{1, 0}, std::pair{17, 3}, std::pair{17, 16}}) {
    const int d = dims;
    const std::vector<std::uint16_t> rows = all_patterns(dtype, d, column);
    const std::vector<std::uint16_t> units = unit_rows(dtype, d, column);
    const cpu::BandProblem problem{sequences, 1, d, 0};
    std::vector<float> as_key(patterns), as_query(patterns);
    for_each_instruction_set([&](const std::string& set) {
      // One key per row: its score with a unit vector is the number itself, in float32.
      ASSERT_TRUE(cpu::windowed_qk(problem, tensor_of(units, dtype, d), tensor_of(rows, dtype, d),
                                   1.0f, 1, as_key));
      ASSERT_TRUE(cpu::windowed_qk(problem, tensor_of(rows, dtype, d), tensor_of(units, dtype, d),
                                   1.0f, 1, as_query));
      for (std::size_t i = 0; i < patterns; ++i) {
        const double expected = number_of(GetParam(), static_cast<std::uint32_t>(i));
        for (const float widened : {as_key[i], as_query[i]}) {
          if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(widened)) << set << fmt::format(" {:#x}", i);
          } else {
            ASSERT_EQ(widened, expected) << set << fmt::format(" {:#x}", i);
          }
        }
      }
    });
  }
}

TEST_P(NumberFormat, AttendingToOneself_ReturnsEveryPattern) {
  const Format format = GetParam();
  constexpr std::int64_t d = 17;
  const AttentionPlan plan = plan_of_one_task(
      patterns, 1, {{.keys = {0, patterns}, .kind = SegmentKind::band, .window = 0}});
  for (const std::int64_t column : {5, 16}) {
    const std::vector<std::uint16_t> values = all_patterns(format.dtype, d, column);
    const std::vector<std::uint16_t> keys = unit_rows(format.dtype, d, 0);
    const ConstTensor q = tensor_of(keys, format.dtype, d);
    for_each_instruction_set([&](const std::string& set) {
      std::vector<std::uint16_t> out(values.size(), 0x1234);
      const Tensor o{reinterpret_cast<std::byte*>(out.data()), format.dtype, d, d, d, 0, 0};
      std::vector<std::byte> workspace(
          static_cast<std::size_t>(cpu::segment_workspace_bytes(plan, d, 1)));
      ASSERT_TRUE(cpu::segment_forward(plan, q, q, tensor_of(values, format.dtype, d), 1.0f, o, {},
                                       1, workspace));
      for (std::size_t i = 0; i < patterns; ++i) {
        const std::uint16_t got = out[i * d + static_cast<std::size_t>(column)];
        const auto pattern = static_cast<std::uint16_t>(i);
        const double number = number_of(format, pattern);
        if (std::isnan(number)) {
          ASSERT_TRUE(std::isnan(number_of(format, got))) << set << " " << i;
        } else if (number == 0 ||
                   (flushes_subnormals(set, format) && std::abs(number) < 0x1p-126)) {
          ASSERT_EQ(number_of(format, got), 0) << set << " " << i;
        } else {
          ASSERT_EQ(got, pattern) << set << fmt::format(" {:#x}", i);
        }
      }
    });
  }
}

/// Numbers and their rounded values: every non-negative finite number of the format, the midpoints
/// between it and its successor, and the float32 numbers next to the midpoints.
struct Roundings {
  std::vector<float> number;
  std::vector<std::uint16_t> pattern;

  void add(double x, std::uint32_t rounded) {
    for (const bool negative : {false, true}) {
      number.push_back(static_cast<float>(negative ? -x : x));
      pattern.push_back(static_cast<std::uint16_t>(rounded | (negative ? 0x8000U : 0U)));
    }
  }
};

Roundings turning_points(const Format& format) {
  const std::uint32_t infinite = ((1U << format.exponent_bits) - 1U) << format.fraction_bits;
  const double largest = number_of(format, infinite - 1);
  Roundings all;
  for (std::uint32_t p = 0; p < infinite; ++p) {
    const double x = number_of(format, p);
    // The successor of the largest number is infinity, with the midpoint of a format without a
    // largest number.
    const double next = p + 1 < infinite ? number_of(format, p + 1)
                                         : largest + (largest - number_of(format, infinite - 2));
    all.add(x, p);
    const double half_way = x + (next - x) / 2;
    const auto as_float = static_cast<float>(half_way);
    if (as_float == half_way && std::isfinite(as_float)) {
      all.add(as_float, p % 2 == 0 ? p : p + 1);
      all.add(std::nextafter(as_float, 0.0f), p);
      all.add(std::nextafter(as_float, inf), p + 1);
    }
  }
  all.add(std::numeric_limits<float>::max(), infinite);
  all.add(inf, infinite);
  return all;
}

/// The patterns that the kernels write for `numbers`, `d` per row.
std::vector<std::uint16_t> stored(const std::vector<float>& numbers, DType dtype, std::int64_t d) {
  const cpu::KernelTable& kernels = **cpu::selected_kernels();
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::vector<std::uint16_t> out(numbers.size(), 0x5a5a);
  std::vector<float> row(static_cast<std::size_t>(d + cpu::widest_vector));
  const cpu::HeadView<std::byte> view{reinterpret_cast<std::byte*>(out.data()), dtype, d, 0, 0};
  for (std::int64_t at = 0; at < count; at += d) {
    const std::int64_t length = std::min(d, count - at);
    std::copy_n(numbers.begin() + at, length, row.begin());
    kernels.store_row(row.data(), length, 1.0f, view, at);
  }
  return out;
}

TEST_P(NumberFormat, NarrowingRoundsToNearestEven) {
  const Format format = GetParam();
  const Roundings points = turning_points(format);
  ASSERT_GT(points.number.size(), 200'000U);
  for_each_instruction_set([&](const std::string& set) {
    for (const std::int64_t d : {48, 19, 1}) {
      const std::vector<std::uint16_t> out = stored(points.number, format.dtype, d);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double x = points.number[i];
        if (flushes_subnormals(set, format) && std::abs(x) < 0x1p-126) {
          ASSERT_LE(std::abs(number_of(format, out[i])), 0x1p-126) << set << " " << x;
          continue;
        }
        ASSERT_EQ(out[i], points.pattern[i]) << set << fmt::format(" {:a} in rows of {}", x, d);
      }
    }
  });
}

TEST_P(NumberFormat, ScalarFunctionsConvertInTheSameWay) {
  const Format format = GetParam();
  const bool half = format.dtype == DType::float16;
  const auto read = half ? &float_from_float16 : &float_from_bfloat16;
  const auto write = half ? &float16_from_float : &bfloat16_from_float;
  for (std::uint32_t pattern = 0; pattern < patterns; ++pattern) {
    const double number = number_of(format, pattern);
    const float widened = read(static_cast<std::uint16_t>(pattern));
    if (std::isnan(number)) {
      ASSERT_TRUE(std::isnan(widened) && std::isnan(read(write(widened)))) << pattern;
    } else {
      ASSERT_EQ(widened, number) << pattern;
      ASSERT_EQ(write(widened), pattern);
    }
  }
  const Roundings points = turning_points(format);
  for (std::size_t i = 0; i < points.number.size(); ++i) {
    ASSERT_EQ(write(points.number[i]), points.pattern[i]) << points.number[i];
  }
}

TEST_P(NumberFormat, NarrowingKeepsNaN) {
  const Format format = GetParam();
  std::vector<float> nans;
  for (const std::uint32_t payload : {0x400000U, 0x1U, 0x1000U, 0x10000U, 0x7fffffU, 0x3fffffU}) {
    for (const std::uint32_t sign : {0x7f800000U, 0xff800000U}) {
      nans.push_back(std::bit_cast<float>(sign | payload));
    }
  }
  for_each_instruction_set([&](const std::string& set) {
    for (const std::int64_t d : {12, 5}) {
      for (const std::uint16_t pattern : stored(nans, format.dtype, d)) {
        ASSERT_TRUE(std::isnan(number_of(format, pattern)))
            << set << fmt::format(" {:#x}", pattern);
      }
    }
  });
}

}  // namespace
}  // namespace attnscope::testing
