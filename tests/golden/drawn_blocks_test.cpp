// SPDX-License-Identifier: Apache-2.0
//
// The pattern `bigbird` is of the same shape as what BigBird's own code drew; which blocks are the
// random ones is each drawer's own.

#include <gtest/gtest.h>

#include <numeric>

#include "engine/pattern/compile_plan.h"
#include "engine/pattern/mask.h"
#include "tests/golden/fixture.h"

namespace attnscope::tests {
namespace {

std::int64_t keys_of(const Mask& mask, std::int32_t head, std::int64_t token) {
  const std::vector<TokenRange> intervals = mask.intervals(head, token);
  return std::accumulate(
      intervals.begin(), intervals.end(), std::int64_t{0},
      [](std::int64_t sum, const TokenRange& keys) { return sum + keys.size(); });
}

void expect_rows_of_as_many_keys(std::string_view fixture_name, std::int64_t block_length) {
  const Fixture fixture(fixture_name);
  const AttentionPattern pattern = must(parse_pattern(
      fmt::format(
          R"({{"name":"drawn","title":"Drawn","blocks":{{"length":{},"random":3,"seed":1}}}})",
          block_length),
      "test"));
  const Mask ours(must(compile_plan(pattern, {}, fixture.layout(), fixture.plan().heads)));
  const Mask theirs(fixture.plan());
  for (std::int32_t head = 0; head < fixture.plan().heads; ++head) {
    for (std::int64_t token = 0; token < fixture.plan().tokens; ++token) {
      ASSERT_EQ(keys_of(ours, head, token), keys_of(theirs, head, token))
          << fixture_name << ", head " << head << ", token " << token;
    }
  }
}

TEST(DrawnBlocks, OurPatternHasAsManyKeysPerRowAsTheOriginal) {
  expect_rows_of_as_many_keys("bigbird-8", 8);
  expect_rows_of_as_many_keys("bigbird-16", 16);
}

TEST(DrawnBlocks, OriginalBlocksDifferByHead) {
  const Fixture fixture("bigbird-16");
  const Mask mask(fixture.plan());
  std::int64_t rows_apart = 0;
  for (std::int64_t token = 0; token < fixture.plan().tokens; ++token) {
    if (mask.intervals(0, token) != mask.intervals(1, token)) ++rows_apart;
  }
  EXPECT_GT(rows_apart, 0);
}

}  // namespace
}  // namespace attnscope::tests
