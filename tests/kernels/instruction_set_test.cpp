// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/instruction_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Sets ATTNSCOPE_ISA for one test.
class InEnvironment {
 public:
  explicit InEnvironment(const char* value) { setenv("ATTNSCOPE_ISA", value, 1); }
  ~InEnvironment() { unsetenv("ATTNSCOPE_ISA"); }
  InEnvironment(const InEnvironment&) = delete;
  InEnvironment& operator=(const InEnvironment&) = delete;
};

TEST(InstructionSet, IsTheSelectedOneOrThatOfTheEnvironmentOrTheWidest) {
  unsetenv("ATTNSCOPE_ISA");
  ASSERT_EQ(cpu::available_sets().front(), cpu::InstructionSet::baseline);
  EXPECT_EQ(cpu::selected_set(), cpu::available_sets().back());
  {
    const InEnvironment environment("baseline");
    EXPECT_EQ(cpu::selected_set(), cpu::InstructionSet::baseline);
  }
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
    EXPECT_THAT(status.error().message,
                AllOf(HasSubstr("ATTNSCOPE_ISA is 'sse9'"), HasSubstr("baseline")));
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

/// exp2 of each number by the selected set.
std::vector<float> exponentials(const std::vector<float>& x) {
  std::vector<float> y(x.size(), -1.0f);
  (*cpu::selected_kernels())->exponentials(x.data(), static_cast<std::int64_t>(x.size()), y.data());
  return y;
}

TEST(Exponential, IsWithinTwoUnitsInTheLastPlace) {
  std::vector<float> x;
  for (int i = 0; i <= 2'000'000; ++i) {
    x.push_back(static_cast<float>(-126.0 + 127.0 * i / 2'000'000));
  }
  for_each_instruction_set([&](const std::string& set) {
    const std::vector<float> y = exponentials(x);
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
    EXPECT_THAT(exponentials(x), ::testing::ElementsAre(1.0f, 1.0f, 0.0f, 0x1p-126f, 0.0f, 0.0f,
                                                        2.0f, 0.5f, ::testing::IsNan()))
        << set;
  });
}

/// Lines of `nm` on the symbols an object defines for others.
std::vector<std::string> exported_symbols(const std::string& object) {
  const std::string command = "nm --defined-only --extern-only --demangle '" + object + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> lines;
  std::array<char, 4096> line{};
  while (pipe && std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) != nullptr) {
    lines.emplace_back(line.data());
  }
  return lines;
}

/// The linker could use an inline function compiled for a higher instruction set in the baseline
/// path, which is an illegal instruction on older processors. So such objects export only one
/// function.
TEST(PerInstructionSetObjects, ExportOnlyTheirTable) {
  struct Object {
    const char *name, *path;
  };
  for (const Object& object : std::vector<Object>{ATTNSCOPE_KERNEL_OBJECTS}) {
    EXPECT_THAT(
        exported_symbols(object.path),
        ::testing::ElementsAre(HasSubstr(fmt::format("T attnscope::cpu::{}()", object.name))));
  }
}

}  // namespace
}  // namespace attnscope::testing
