// SPDX-License-Identifier: Apache-2.0
//
// Plans of the built-in patterns: compared with the oracle for all lengths up to 64 and all
// windows, and their structure, which determines the cost of kernels. Plans of random patterns,
// compared with the oracle.
#include "engine/pattern/compile_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/pattern/plan_agreement.h"

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::is_well_formed;
using testing::plan_agrees;
using testing::text_of;

constexpr std::int64_t longest = 64;

AttentionPlan plan_of(std::string_view pattern, std::optional<Window> window,
                      const SequenceLayout& layout) {
  return compile_plan(find_pattern(pattern).value(), window, layout, /*heads=*/1).value();
}

class EveryBuiltInPattern : public ::testing::TestWithParam<AttentionPattern> {};

std::vector<std::optional<Window>> windows_up_to(const AttentionPattern& pattern,
                                                 std::int64_t most) {
  if (!pattern.has_window()) return {std::nullopt};
  std::vector<std::optional<Window>> windows{Window::infinite()};
  for (std::int64_t w = 0; w <= most; ++w) windows.emplace_back(Window::of(w));
  return windows;
}

TEST_P(EveryBuiltInPattern, MatchesTheOracleForEveryLengthAndWindow) {
  for (std::int64_t n = 0; n <= longest; ++n) {
    for (const std::int64_t query : {0, 1, 5}) {
      if (n > 0 && n < 1 + query) continue;
      const std::int64_t cls = n > 0 ? 1 : 0;
      const SequenceLayout layout = SequenceLayout::uniform(
          1, {.cls = cls, .query = n > 0 ? query : 0, .documents = {n > 0 ? n - 1 - query : 0}});
      for (const auto& window : windows_up_to(GetParam(), n)) {
        ASSERT_TRUE(plan_agrees(GetParam(), window, layout));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, EveryBuiltInPattern, ::testing::ValuesIn(built_in_patterns()),
                         testing::name_of_pattern);

const SequenceLayout small = SequenceLayout::uniform(1, {.query = 2, .documents = {5}});

TEST(CompilePlan, BuiltInPatternsHaveTheFewestTasksAndSegments) {
  const SequenceLayout two = SequenceLayout::uniform(2, {.query = 2, .documents = {5}});
  const SequenceLayout two_documents =
      SequenceLayout::uniform(2, {.query = 2, .documents = {2, 3}});
  const auto alone = [](std::int64_t tokens) {
    return SequenceLayout::uniform(1, {.cls = 0, .documents = {tokens}});
  };
  const auto list = [](LayoutItem item) { return SequenceLayout::make({std::move(item)}).value(); };
  struct Row {
    const char* pattern;
    std::optional<Window> window;
    SequenceLayout layout;
    std::vector<std::string> plan;
  };
  for (const Row& row : std::vector<Row>{
           {"full", std::nullopt, small, {"0-8: whole 0-8"}},
           {"sliding-window",
            Window::of(1),
            two_documents,
            {"0-8: band(1) 0-8", "8-16: band(1) 8-16"}},
           {"sliding-window", Window::of(7), two_documents, {"0-8: whole 0-8", "8-16: whole 8-16"}},
           {"sparse",
            Window::of(1),
            two,
            {"0-1: whole 0-8", "1-3: whole 1-3", "3-8: whole 0-3 band(1) 3-8", "8-9: whole 8-16",
             "9-11: whole 9-11", "11-16: whole 8-11 band(1) 11-16"}},
           {"longformer", Window::of(2), small, {"0-3: whole 0-8", "3-8: whole 0-3 band(2) 3-8"}},
           // Sentence starts are listed, and skipped in bands.
           {"qds",
            Window::of(1),
            list({.query = 2, .documents = {12}, .sentences = {0, 4, 9}}),
            {"0-3: whole 0-15", "{3 7 12}: whole 0-15",
             "4-7: whole 0-3 whole {3 7 12} band(1) 4-15 but 7 but 12",
             "8-12: whole 0-3 whole {3 7 12} band(1) 4-15 but 7 but 12",
             "13-15: whole 0-3 whole {3 7 12} band(1) 4-15 but 7 but 12"}},
           // One sentence start at the front needs no list.
           {"qds", Window::of(1), small, {"0-4: whole 0-8", "4-8: whole 0-4 band(1) 4-8"}},
           {"chunks",
            std::nullopt,
            alone(85),
            {"0-40: whole 0-45", "40-80: whole 35-85", "80-85: whole 75-85"}},
           {"chunks", std::nullopt, small, {"0-1: whole 0-8", "1-3: whole 1-3", "3-8: whole 3-8"}},
           // A chunk or a window of the whole document is whole.
           {"chunks", std::nullopt, alone(40), {"0-40: whole 0-40"}},
           {"longformer", Window::infinite(), small, {"0-8: whole 0-8"}},
           {"longformer", Window::of(4), small, {"0-8: whole 0-8"}},
           {"longformer", Window::of(1'000'000), small, {"0-8: whole 0-8"}},
           {"longformer", Window::of(3), small, {"0-3: whole 0-8", "3-8: whole 0-3 band(3) 3-8"}},
           // Each document of a list-wise item is a task; empty groups have none.
           {"sparse",
            Window::of(1),
            list({.query = 1, .documents = {3, 0, 4}}),
            {"0-1: whole 0-9", "1-2: whole 1-2", "2-5: whole 0-2 band(1) 2-5",
             "5-9: whole 0-2 band(1) 5-9"}},
           {"sparse", Window::of(1), alone(4), {"0-4: band(1) 0-4"}},
           {"sparse", Window::of(1), SequenceLayout::uniform(3, {.cls = 0}), {}}}) {
    EXPECT_EQ(text_of(plan_of(row.pattern, row.window, row.layout)), row.plan)
        << row.pattern << " " << layout_json(row.layout);
    EXPECT_TRUE(plan_agrees(find_pattern(row.pattern).value(), row.window, row.layout));
  }
}

TEST(CompilePlan, RangesBetweenSentencesShareOneSegmentList) {
  const AttentionPlan plan =
      plan_of("qds", Window::of(4), SequenceLayout::uniform(1, {.query = 2, .documents = {300}}));
  EXPECT_EQ(plan.segments.size(), 4U);
  EXPECT_EQ(plan.tasks.size(), 12U);
}

TEST(CompilePlan, ChunksWithGlobalTokensAttendToBoth) {
  AttentionPattern pattern = find_pattern("longformer").value();
  pattern.attends[2][2] = {.kind = GroupRule::Kind::chunks, .chunk = {.tokens = 3, .overlap = 1}};
  EXPECT_THAT(text_of(compile_plan(pattern, std::nullopt, small, 1).value()),
              ElementsAre("0-3: whole 0-8", "3-6: whole 0-7", "6-8: whole 0-3 whole 5-8"));
}

TEST(CompilePlan, SharedQueryIsOneTaskOutsideAllItems) {
  const auto layout = SequenceLayout::make({{.documents = {3}}, {.documents = {3}}}, 2);
  const AttentionPlan plan = plan_of("sparse", Window::of(1), *layout);
  EXPECT_THAT(text_of(plan),
              ElementsAre("0-2: whole 0-2", "2-3: whole 0-6", "3-6: whole 0-3 band(1) 3-6",
                          "6-7: whole 0-2 whole 6-10", "7-10: whole 0-2 whole 6-7 band(1) 7-10"));
  EXPECT_EQ(plan.tasks[0].item, -1);
  EXPECT_EQ(plan.tasks[1].item, 0);
  EXPECT_EQ(plan.tasks[3].item, 1);
}

TEST(CompilePlan, RowsWithoutKeysHaveATaskWithoutSegments) {
  AttentionPattern pattern{
      .name = "blind", .title = "", .description = "", .attends = {}, .sentence_every = {}};
  pattern.attends[0][0] = {.kind = GroupRule::Kind::whole};
  const AttentionPlan plan = compile_plan(pattern, std::nullopt, small, 1).value();
  EXPECT_THAT(text_of(plan), ElementsAre("0-1: whole 0-1", "1-8:"));
}

TEST(CompilePlan, SizeDependsOnItemsAndSentencesRatherThanTokens) {
  const SequenceLayout layout = SequenceLayout::uniform(10, {.query = 12, .documents = {100'000}});
  EXPECT_EQ(plan_of("sparse", Window::of(64), layout).tasks.size(), 30U);
  const AttentionPlan qds = plan_of("qds", Window::of(64), layout);
  EXPECT_EQ(qds.indices.size(), 10U * 3334U);
  EXPECT_LT(qds.tasks.size(), 10U * 3340U);
  EXPECT_TRUE(is_well_formed(qds));
  EXPECT_EQ(plan_of("chunks", std::nullopt, layout).tasks.size(), 10U * 2502U);
}

// Random rules for all pairs of groups on random layouts. In most of these patterns some keys are
// allowed by two rules, and must count once.

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

TEST(CompilePlanErrors, MissingWindowIsReportedWithThePattern) {
  const auto plan = compile_plan(find_pattern("sparse").value(), std::nullopt, small, 1);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("pattern 'sparse' needs a window"));
}

TEST(CompilePlanErrors, NumberOfHeadsIsLimited) {
  for (const std::int32_t heads : {0, -1, 513}) {
    const auto plan = compile_plan(find_pattern("full").value(), std::nullopt, small, heads);
    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.error().message, HasSubstr(fmt::format("from 1 to 512, not {}", heads)));
  }
}

TEST(CompilePlanErrors, SharedQueryCannotAttendToDocuments) {
  const SequenceLayout shared = SequenceLayout::uniform(2, {.documents = {3}}, 2);
  for (const char* name : {"full", "longformer", "qds", "sparse-without-independent-query"}) {
    const auto plan = compile_plan(find_pattern(name).value(), Window::of(1), shared, 1);
    ASSERT_FALSE(plan) << name;
    EXPECT_THAT(plan.error().message,
                AllOf(HasSubstr(name), HasSubstr("encoded once and cannot attend to cls")));
  }
}

TEST(CompilePlanErrors, PatternsMadeInCodeAreChecked) {
  const GroupRule chunks{.kind = GroupRule::Kind::chunks};
  struct Row {
    std::function<void(AttentionPattern&)> change;
    const char* reason;
  };
  for (const Row& row : std::vector<Row>{
           {[](AttentionPattern& p) { p.attends[0][2] = {.kind = GroupRule::Kind::window}; },
            "cls -> document cannot be a window"},
           {[](AttentionPattern& p) { p.attends[2][2].fixed_window = -3; },
            "must be 0 or more, not -3"},
           {[&](AttentionPattern& p) { p.attends[0][2] = chunks; },
            "cls -> document cannot be chunks"},
           {[&](AttentionPattern& p) {
              p.attends[1][1] = chunks;
              p.attends[1][1].chunk = {.tokens = 0, .overlap = 1};
            },
            "a chunk of query -> query must have 1 token or more"},
           {[](AttentionPattern& p) { p.sentence_every = 0; }, "at least 1 token apart"}}) {
    AttentionPattern pattern = find_pattern("qds").value();
    row.change(pattern);
    const auto plan = compile_plan(pattern, Window::of(1), small, 1);
    ASSERT_FALSE(plan) << row.reason;
    EXPECT_THAT(plan.error().message, HasSubstr(row.reason));
  }
}

}  // namespace
}  // namespace attnscope
