// SPDX-License-Identifier: Apache-2.0
//
// Random rules for all pairs of groups on random layouts: plans compared with the oracle. In most
// of these patterns some keys are allowed by two rules, and must count once.
#include <gtest/gtest.h>

#include <random>

#include "engine/pattern/compile_plan.h"
#include "tests/pattern/plan_agreement.h"

namespace attnscope {
namespace {

using testing::plan_agrees;

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::int64_t up_to(std::int64_t most) {  // 0 ... most
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(most + 1));
  }
  bool one_in(std::int64_t n) { return up_to(n - 1) == 0; }

 private:
  std::mt19937 engine_;
};

GroupRule random_rule(Dice& dice, TokenGroup from, TokenGroup to) {
  const std::int64_t kind = dice.up_to(share_positions(from, to) ? 4 : 1);
  if (kind == 0) return {};
  if (kind == 1) return {.kind = GroupRule::Kind::whole};
  if (kind == 2) return {.kind = GroupRule::Kind::window};
  if (kind == 3) return {.kind = GroupRule::Kind::window, .fixed_window = dice.up_to(6)};
  const std::int64_t tokens = 1 + dice.up_to(6);
  return {.kind = GroupRule::Kind::chunks,
          .chunk = {.tokens = tokens, .overlap = dice.up_to(dice.one_in(2) ? 2 : 9)}};
}

AttentionPattern random_pattern(Dice& dice, bool independent_query) {
  AttentionPattern pattern{
      .name = "random", .title = "", .description = "", .attends = {}, .sentence_every = {}};
  for (const TokenGroup from : token_groups) {
    for (const TokenGroup to : token_groups) {
      if (independent_query && from == TokenGroup::query && to != from) continue;
      pattern.attends[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] =
          random_rule(dice, from, to);
    }
  }
  if (dice.one_in(2)) pattern.sentence_every = 1 + dice.up_to(6);
  return pattern;
}

LayoutItem random_item(Dice& dice, bool shares_query) {
  LayoutItem item{.cls = dice.up_to(2), .query = shares_query ? 0 : dice.up_to(4)};
  std::int64_t tokens = 0;
  for (std::int64_t d = dice.one_in(2) ? 1 : dice.up_to(3); d > 0; --d) {
    item.documents.push_back(dice.one_in(5) ? 0 : dice.up_to(14));
    tokens += item.documents.back();
  }
  item.sentences_given = dice.one_in(2);
  const std::int64_t density = 1 + dice.up_to(4);
  for (std::int64_t token = 0; item.sentences_given && token < tokens; ++token) {
    if (dice.one_in(density)) item.sentences.push_back(token);
  }
  return item;
}

SequenceLayout random_layout(Dice& dice, bool shares_query) {
  std::vector<LayoutItem> items;
  for (std::int64_t i = 1 + dice.up_to(2); i > 0; --i) {
    items.push_back(random_item(dice, shares_query));
  }
  return SequenceLayout::make(std::move(items), shares_query ? 1 + dice.up_to(4) : 0).value();
}

Window random_window(Dice& dice) {
  return dice.one_in(8) ? Window::infinite() : Window::of(dice.up_to(8));
}

TEST(RandomPlans, MatchTheOracleForAnyTableOnAnyLayout) {
  for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
    Dice dice(seed);
    const bool shares_query = dice.one_in(4);
    const AttentionPattern pattern = random_pattern(dice, shares_query);
    const SequenceLayout layout = random_layout(dice, shares_query);
    ASSERT_TRUE(plan_agrees(pattern, random_window(dice), layout,
                            static_cast<std::int32_t>(1 + dice.up_to(2))))
        << "seed " << seed;
  }
}

TEST(RandomPlans, MatchTheOracleForBuiltInsOnAnyLayout) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    for (const AttentionPattern& pattern : built_in_patterns()) {
      Dice dice(seed);
      const bool shares_query = pattern.name == "sparse" && dice.one_in(2);
      const SequenceLayout layout = random_layout(dice, shares_query);
      ASSERT_TRUE(plan_agrees(pattern, random_window(dice), layout)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace attnscope
