// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "engine/pattern/compile_plan.h"
#include "engine/pattern/oracle.h"
#include "tests/pattern/plan_agreement.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const SequenceLayout layout =
    SequenceLayout::make({{.query = 3, .documents = {20, 11}}, {.query = 0, .documents = {35}}})
        .value();

Mask mask_of(const AttentionPattern& pattern) {
  return Mask(compile_plan(pattern, Window::of(2), layout, 2).value());
}

class EveryMask : public ::testing::TestWithParam<AttentionPattern> {};

TEST_P(EveryMask, HasTheIntervalsAndDensityOfTheOracle) {
  const Mask mask = mask_of(GetParam());
  const Oracle oracle(GetParam(), Window::of(2), layout);
  constexpr std::int64_t tile = 7;
  std::map<std::pair<std::int64_t, std::int64_t>, int> pairs;  // by the tile's row and column
  for (std::int64_t row = 0; row < layout.tokens(); ++row) {
    std::vector<TokenRange> expected;
    for (std::int64_t key = 0; key < layout.tokens(); ++key) {
      int& of_tile = pairs[{row / tile, key / tile}];
      if (!oracle.allowed(1, row, key)) continue;
      ++of_tile;
      if (expected.empty() || expected.back().end != key) expected.push_back({key, key});
      expected.back().end = key + 1;
    }
    EXPECT_EQ(mask.intervals(1, row), expected) << "row " << row;
  }
  for (const auto& [at, allowed] : pairs) {
    const auto range = [](std::int64_t n) {
      return TokenRange{n * tile, std::min((n + 1) * tile, layout.tokens())};
    };
    const TokenRange rows = range(at.first), cols = range(at.second);
    EXPECT_DOUBLE_EQ(mask.density(1, rows, cols),
                     allowed / static_cast<double>(rows.size() * cols.size()))
        << "tile at " << rows.begin << ", " << cols.begin;
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, EveryMask, ::testing::ValuesIn(built_in_patterns()),
                         testing::name_of_pattern);

TEST(Mask, TokensAndHeadsOutsideThePlanHaveNoKeys) {
  const Mask mask = mask_of(find_pattern("full").value());
  EXPECT_THAT(mask.intervals(0, -1), IsEmpty());
  EXPECT_THAT(mask.intervals(0, layout.tokens()), IsEmpty());
  EXPECT_THAT(mask.intervals(2, 0), IsEmpty());
  EXPECT_EQ(mask.density(0, {5, 5}, {0, 9}), 0.0);
  EXPECT_EQ(mask.density(2, {0, 9}, {0, 9}), 0.0);
}

TEST(Mask, HeadsWithSeparateTasksHaveSeparateRows) {
  const Mask mask(
      {.tokens = 4,
       .heads = 2,
       .tasks = {{.queries = {0, 4}, .heads = {0, 1}, .first_segment = 0, .segment_count = 1},
                 {.queries = {0, 4}, .heads = {1, 2}, .first_segment = 1, .segment_count = 1}},
       .segments = {{.keys = {0, 2}}, {.keys = {3, 4}}},
       .indices = {}});
  EXPECT_THAT(mask.intervals(0, 2), ElementsAre(TokenRange{0, 2}));
  EXPECT_THAT(mask.intervals(1, 2), ElementsAre(TokenRange{3, 4}));
  EXPECT_EQ(mask.density(1, {0, 4}, {0, 4}), 0.25);
}

TEST(Mask, DensityOfAMillionTokensIsComputedInClosedForm) {
  const SequenceLayout large = SequenceLayout::uniform(1, {.query = 10, .documents = {1'000'000}});
  const Mask mask(compile_plan(find_pattern("qds").value(), Window::of(4), large, 1).value());
  EXPECT_EQ(mask.density(0, {0, 11}, {0, large.tokens()}), 1.0);
  // [CLS], query and the first sentence start are one interval; of the other 33,333 sentence starts
  // one lies inside the row's window.
  EXPECT_EQ(mask.intervals(0, 500'022).size(), 33'334U);
}

}  // namespace
}  // namespace attnscope
