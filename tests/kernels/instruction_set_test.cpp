// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/instruction_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {
namespace {

/// Sets ATTNSCOPE_ISA for one test.
class InEnvironment {
 public:
  explicit InEnvironment(const char* value) { setenv("ATTNSCOPE_ISA", value, 1); }
  ~InEnvironment() { unsetenv("ATTNSCOPE_ISA"); }
  InEnvironment(const InEnvironment&) = delete;
  InEnvironment& operator=(const InEnvironment&) = delete;
};

TEST(InstructionSet, TheWidestAvailableIsTheDefault) {
  unsetenv("ATTNSCOPE_ISA");
  ASSERT_EQ(cpu::available_sets().front(), cpu::InstructionSet::baseline);
  EXPECT_EQ(cpu::selected_set(), cpu::available_sets().back());
}

TEST(InstructionSet, TheEnvironmentChooses) {
  const InEnvironment environment("baseline");
  EXPECT_EQ(cpu::selected_set(), cpu::InstructionSet::baseline);
}

TEST(InstructionSet, SelectOverridesTheEnvironment) {
  const InEnvironment environment("nonsense");
  ASSERT_TRUE(cpu::select(cpu::InstructionSet::baseline));
  EXPECT_EQ(cpu::selected_set(), cpu::InstructionSet::baseline);
  ASSERT_TRUE(cpu::select(std::nullopt));
  EXPECT_FALSE(cpu::selected_set());
}

TEST(InstructionSet, EveryOperationRefusesAnUnknownName) {
  const InEnvironment environment("sse9");
  const AttentionPlan plan;
  for (const Status& status : {cpu::segment_supports(plan, 32), cpu::windowed_supports(plan, 32)}) {
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("ATTNSCOPE_ISA is 'sse9'"), std::string::npos);
    EXPECT_NE(status.error().message.find("baseline"), std::string::npos);
  }
}

TEST(InstructionSet, ASetThatTheProcessorLacksIsRefused) {
  using enum cpu::InstructionSet;
  const std::vector<cpu::InstructionSet> older{baseline, avx2};
  EXPECT_EQ(cpu::choose_set("avx2", older), avx2);
  EXPECT_EQ(cpu::choose_set("", older), avx2);
  const Result<cpu::InstructionSet> set = cpu::choose_set("avx512-bf16", older);
  ASSERT_FALSE(set);
  EXPECT_EQ(
      set.error().message,
      "ATTNSCOPE_ISA requests 'avx512-bf16', which this processor does not support; it supports "
      "baseline, avx2");
}

/// The tests of the kernels use the same sets; scripts/dev/instruction_sets reads the line.
TEST(InstructionSet, SelectTakesExactlyThoseTheProcessorHas) {
  using enum cpu::InstructionSet;
  const std::vector<cpu::InstructionSet> here = cpu::available_sets();
  std::vector<std::string_view> tested, lacking;
  for (const cpu::InstructionSet set : {baseline, avx2, avx512, avx512_vnni, avx512_bf16, amx}) {
    const bool has = std::ranges::find(here, set) != here.end();
    EXPECT_EQ(static_cast<bool>(cpu::select(set)), has) << cpu::name_of(set);
    (has ? tested : lacking).push_back(cpu::name_of(set));
  }
  ASSERT_TRUE(cpu::select(std::nullopt));
  fmt::print("instruction sets tested: {}; not run: {}\n", fmt::join(tested, ", "),
             lacking.empty() ? "none" : fmt::format("{}", fmt::join(lacking, ", ")));
}

double units_in_last_place(float actual, double expected) {
  const auto rounded = static_cast<float>(expected);
  const double unit = std::nextafter(rounded, std::numeric_limits<float>::infinity()) - rounded;
  return std::abs(actual - expected) / unit;
}

TEST(Exponential, IsWithinTwoUnitsInTheLastPlace) {
  std::vector<float> x;
  for (int i = 0; i <= 2'000'000; ++i) {
    x.push_back(static_cast<float>(-126.0 + 127.0 * i / 2'000'000));
  }
  for_each_instruction_set([&](const std::string& set) {
    std::vector<float> y(x.size(), -1.0f);
    (*cpu::selected_kernels())
        ->exponentials(x.data(), static_cast<std::int64_t>(x.size()), y.data());
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, units_in_last_place(y[i], std::exp2(static_cast<double>(x[i]))));
    }
    EXPECT_LE(worst, 2.0) << set;
  });
}

TEST(Exponential, IsExactAtItsLimits) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{0.0f, -0.0f, -inf, -126.0f, -126.5f, -1e30f, 1.0f, -1.0f, NAN};
  for_each_instruction_set([&](const std::string& set) {
    std::vector<float> y(x.size());
    (*cpu::selected_kernels())
        ->exponentials(x.data(), static_cast<std::int64_t>(x.size()), y.data());
    const std::vector<float> expected{1.0f, 1.0f, 0.0f, 0x1p-126f, 0.0f, 0.0f, 2.0f, 0.5f};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(y[i], expected[i]) << set << " 2^" << x[i];
    }
    EXPECT_TRUE(std::isnan(y.back()));
  });
}

}  // namespace
}  // namespace attnscope::testing
