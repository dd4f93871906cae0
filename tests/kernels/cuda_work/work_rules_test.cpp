// SPDX-License-Identifier: Apache-2.0
//
// Rules against the meaning of segments (kernels/plan/key_runs.h), token by token, both ways.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/cuda/work/rules.h"
#include "kernels/plan/key_runs.h"
#include "tests/kernels/cuda_work/list_checks.h"

namespace attnscope::cuda {
namespace {

constexpr std::int32_t tokens = 40;
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// Segments over keys 7 ... 31 with these windows and offsets.
std::vector<Segment> segments() {
  std::vector<Segment> all{{.keys = {7, 31}}};
  for (const std::int64_t window : std::initializer_list<std::int64_t>{0, 1, 5, 24, 38, 39, huge}) {
    for (const std::int64_t offset : std::initializer_list<std::int64_t>{
             0, 3, -3, 25, -25, 38, -39, 60, -80, std::int64_t{1} << 59}) {
      all.push_back(
          {.keys = {7, 31}, .kind = SegmentKind::band, .window = window, .offset = offset});
      if (window > 0) {
        all.push_back(
            {.keys = {7, 31}, .kind = SegmentKind::block, .window = window, .offset = offset});
      }
    }
  }
  // Beyond any token on one side, within reach on the other.
  all.push_back({.keys = {7, 31}, .kind = SegmentKind::band, .window = 5000, .offset = 4990});
  all.push_back({.keys = {7, 31}, .kind = SegmentKind::band, .window = 5000, .offset = -5013});
  return all;
}

std::string text_of(const Segment& segment) {
  return fmt::format("kind {} window {} offset {}", static_cast<int>(segment.kind), segment.window,
                     segment.offset);
}

TEST(Rules, AQuery_SeesTheKeysOfItsSegment) {
  for (const Segment& segment : segments()) {
    const WorkRule rule = rule_of(segment, {7, 31}, tokens);
    for (std::int32_t query = 0; query < tokens; ++query) {
      const TokenRange expected = window_within({7, 31}, segment, query);
      for (std::int32_t key = 7; key < 31; ++key) {
        const bool inside = key >= expected.begin && key < expected.end;
        ASSERT_EQ(attnscope::testing::sees(rule, query, key), inside)
            << text_of(segment) << " query " << query << " key " << key;
      }
    }
  }
}

TEST(Rules, AKey_IsSeenByTheQueriesThatSeeIt) {
  for (const Segment& segment : segments()) {
    const WorkRule rule = rule_of(segment, {7, 31}, tokens);
    if (rule.kind == RuleKind::none) continue;
    const TokenInterval rows{2, tokens};
    const WorkRule back = mirrored(rule, rows);
    for (std::int32_t key = 7; key < 31; ++key) {
      for (std::int32_t query = rows.begin; query < rows.end; ++query) {
        ASSERT_EQ(attnscope::testing::sees(back, key, query),
                  attnscope::testing::sees(rule, query, key))
            << text_of(segment) << " query " << query << " key " << key;
      }
    }
  }
}

TEST(Rules, AWindowThatHoldsEveryPair_IsWhole) {
  const Segment wide{.keys = {7, 31}, .kind = SegmentKind::band, .window = tokens - 1};
  EXPECT_EQ(rule_of(wide, {7, 31}, tokens).kind, RuleKind::whole);
  const Segment narrower{.keys = {7, 31}, .kind = SegmentKind::band, .window = tokens - 2};
  EXPECT_EQ(rule_of(narrower, {7, 31}, tokens).kind, RuleKind::band);
}

TEST(Rules, AWindowOutOfReachOfAllTokens_IsNoRule) {
  const Segment away{.keys = {7, 31}, .kind = SegmentKind::band, .window = 3, .offset = 43};
  EXPECT_EQ(rule_of(away, {7, 31}, tokens).kind, RuleKind::none);
  const Segment blocks_away{.keys = {7, 31}, .kind = SegmentKind::block, .window = 3, .offset = 40};
  EXPECT_EQ(rule_of(blocks_away, {7, 31}, tokens).kind, RuleKind::none);
}

}  // namespace
}  // namespace attnscope::cuda
