// SPDX-License-Identifier: Apache-2.0
//
// Plans of the built-in patterns against the oracle: all lengths up to 64, all windows.
#include "engine/pattern/compile_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/plan/counts.h"
#include "kernels/plan/row_intervals.h"
#include "tests/pattern/plan_agreement.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::plan_agrees;

constexpr std::int64_t longest = 64;

class EveryBuiltInPattern : public ::testing::TestWithParam<AttentionPattern> {};

std::vector<std::optional<Window>> windows_up_to(const AttentionPattern& pattern,
                                                 std::int64_t most) {
  if (!pattern.has_window()) return {std::nullopt};
  std::vector<std::optional<Window>> windows{Window::infinite()};
  for (std::int64_t w = 0; w <= most; ++w) windows.emplace_back(Window::of(w));
  return windows;
}

TEST_P(EveryBuiltInPattern, AgreesWithTheOracleForEveryLengthAndWindow) {
  for (std::int64_t n = 0; n <= longest; ++n) {
    for (const std::int64_t query : {0, 1, 5}) {
      if (n < 1 + query) continue;
      const SequenceLayout layout =
          SequenceLayout::uniform(1, {.cls = 1, .query = query, .documents = {n - 1 - query}});
      for (const auto& window : windows_up_to(GetParam(), n)) {
        ASSERT_TRUE(plan_agrees(GetParam(), window, layout));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, EveryBuiltInPattern, ::testing::ValuesIn(built_in_patterns()),
                         [](const auto& pattern) {
                           std::string name = pattern.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope
