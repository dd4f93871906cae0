// SPDX-License-Identifier: Apache-2.0
//
// How work lists look: how many blocks, what goes along with what, how they grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "tests/kernels/cuda_work/list_checks.h"

namespace attnscope::testing {
namespace {

using cuda::UnitKind;
using cuda::WorkList;
using cuda::WorkUnit;

AttentionPlan plan_of(const std::string& pattern, std::int64_t window, const SequenceLayout& layout,
                      std::int32_t heads = 12) {
  return *compile_plan(*find_pattern(pattern), Window::of(window), layout, heads);
}

WorkList cut(const AttentionPlan& plan, Passes passes = Passes::forward_backward,
             std::int64_t head_dim = 32) {
  return *cuda::cut_into_units(plan, head_dim, passes);
}

SequenceLayout passages(std::int64_t count) {
  return SequenceLayout::uniform(count, {.query = 11, .documents = {162}});
}

std::int64_t count_of(std::span<const WorkUnit> units, UnitKind kind) {
  return std::ranges::count(units, kind, &WorkUnit::kind);
}

std::int64_t slots_of(std::span<const WorkUnit> units) {
  std::int64_t slots = 0;
  for (const WorkUnit& unit : units) slots += unit.slots;
  return slots;
}

TEST(SparsePassage, TakesThreeBlocksAHeadInEachDirection) {
  const WorkList list = cut(plan_of("sparse", 4, passages(1)));
  EXPECT_EQ(list.heads_per_unit, 12);
  EXPECT_EQ(list.forward_units, 3);
  EXPECT_EQ(count_of(backward_units(list), UnitKind::rows), 3);
  EXPECT_EQ(count_of(backward_units(list), UnitKind::keys), 3);
}

TEST(SparsePassage, QueryRows_AreFinishedByTheFirstTile) {
  const WorkList list = cut(plan_of("sparse", 4, passages(1)), Passes::forward);
  ASSERT_EQ(list.units.front().extras, 2);
  const cuda::WorkStrip& query = list.strips.at(1);
  EXPECT_EQ(query.run.begin, 1);
  EXPECT_EQ(query.run.count, 11);
  EXPECT_EQ(query.part.merge, -1);
}

TEST(SparsePassage, TheClsRow_IsMergedFromItsTiles) {
  const WorkList list = cut(plan_of("sparse", 4, passages(1)), Passes::forward);
  ASSERT_EQ(list.merges.size(), 1U);
  EXPECT_EQ(list.merges[0].parts, 3);
  EXPECT_EQ(list.partial_rows, 3);
  for (const WorkUnit& unit : list.units) EXPECT_GE(unit.extras, 1);
}

TEST(SparsePassage, EachTile_StagesItselfItsWindowAndTheQuery) {
  const WorkList list = cut(plan_of("sparse", 4, passages(1)), Passes::forward);
  ASSERT_EQ(list.units.size(), 3U);
  for (const WorkUnit& unit : list.units) {
    EXPECT_EQ(unit.spans, 2);
    EXPECT_LE(unit.slots, 1 + (64 + 2 * 4 + 15) / 16);
  }
}

TEST(SparsePassages, Units_GrowWithTheBatch) {
  const WorkList list = cut(plan_of("sparse", 4, passages(100)));
  EXPECT_EQ(list.forward_units, 300);
  EXPECT_EQ(list.units.size(), 900U);
  EXPECT_EQ(list.extra_warps, 2);
}

TEST(SharedQuery, ItsRows_AreFinishedByTheFirstItemsTile) {
  const SequenceLayout layout = SequenceLayout::uniform(20, {.documents = {162}}, 11);
  const WorkList list = cut(plan_of("sparse", 4, layout), Passes::forward);
  EXPECT_EQ(list.forward_units, 60);
  EXPECT_EQ(std::ranges::count(list.strips, 0, [](const auto& strip) { return strip.run.begin; }),
            1);
}

TEST(SharedQuery, ItsKeys_GoAlongWithTheTilesOfAllItems_WhenTheseAreFew) {
  const SequenceLayout layout = SequenceLayout::uniform(4, {.documents = {162}}, 5);
  const WorkList list = cut(plan_of("sparse", 4, layout));
  EXPECT_EQ(count_of(backward_units(list), UnitKind::keys), 12);
}

TEST(TinyItems, ThatSeeASharedQueryAlone_FillTilesTogether) {
  AttentionPlan plan{.tokens = 540, .heads = 1, .tasks{}, .segments{}, .indices{}};
  plan.segments = {{.keys = {0, 40}}};
  for (std::int64_t item = 0; item < 100; ++item) {
    plan.tasks.push_back({.queries = {40 + 5 * item, 45 + 5 * item},
                          .heads = {0, 1},
                          .item = item,
                          .first_segment = 0,
                          .segment_count = 1});
  }
  plan.tasks.insert(plan.tasks.begin(),
                    {.queries = {0, 40}, .heads = {0, 1}, .first_segment = 0, .segment_count = 1});
  EXPECT_EQ(cut(plan, Passes::forward).forward_units, (540 + 63) / 64);
  EXPECT_TRUE(cuts_well(plan, keys_from_plan(plan)));
}

/// 11 rows of 300 parts to be merged by one warp would take longer than all else.
TEST(SharedQuery, ItsKeys_HaveUnitsOfTheirOwn_WhenItemsAreMany) {
  const SequenceLayout layout = SequenceLayout::uniform(100, {.documents = {162}}, 11);
  const WorkList list = cut(plan_of("sparse", 4, layout));
  EXPECT_GT(count_of(backward_units(list), UnitKind::keys), 304);
  EXPECT_LT(count_of(backward_units(list), UnitKind::keys), 330);
  for (const cuda::WorkMerge& merge : list.merges) EXPECT_LE(merge.parts, 30);
}

/// Queries of up to 32 tokens are two strips, which take their keys together.
TEST(LongQuery, GoesAlongWithTheTilesAsTwoStrips) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 25, .documents = {60}});
  const WorkList list = cut(plan_of("sparse", 4, layout));
  ASSERT_EQ(list.units.size(), 3U);
  for (const WorkUnit& unit : list.units) EXPECT_EQ(unit.extras, 3);
  EXPECT_LE(list.units[0].slots, (26 + 15) / 16 + (60 + 15) / 16);
  EXPECT_TRUE(list.merges.empty());
  // Of the query's own rows, which no document key streams, there is one copy, too.
  for (const WorkUnit& unit : backward_units(list)) {
    EXPECT_LE(unit.slots, 1 + (25 + 15) / 16 + (60 + 15) / 16);
  }
}

TEST(BackwardUnits, OfOnePlace_StandSideBySide) {
  const WorkList list = cut(plan_of("sparse", 4, passages(3)));
  std::int32_t last = -1;
  for (const WorkUnit& unit : backward_units(list)) {
    EXPECT_GE(unit.run.begin, last);
    last = unit.run.begin;
  }
  EXPECT_EQ(backward_units(list)[0].kind, UnitKind::rows);
  EXPECT_EQ(backward_units(list)[1].kind, UnitKind::keys);
}

TEST(MainWarps, AreEightForWideWindowsOfNarrowHeads) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 4, .documents = {400}});
  EXPECT_EQ(cut(plan_of("sparse", 32, layout), Passes::forward, 64).main_warps, 8);
  EXPECT_EQ(cut(plan_of("sparse", 31, layout), Passes::forward, 64).main_warps, 4);
  EXPECT_EQ(cut(plan_of("sparse", 32, layout), Passes::forward, 65).main_warps, 4);
  EXPECT_EQ(cut(plan_of("full", 0, layout), Passes::forward, 32).main_warps, 4);
}

/// Sentence starts cut the document into runs of 29 tokens; its tiles are full all the same.
TEST(SentenceStarts, LeaveTilesFull) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 11, .documents = {3000}});
  const WorkList list = cut(plan_of("qds", 4, layout));
  const std::int64_t tiles = 2900 / 64 + 1 + 2 * (112 / 64 + 1);  // those of long rows halved
  EXPECT_EQ(list.forward_units, tiles);
  EXPECT_EQ(count_of(backward_units(list), UnitKind::keys), tiles);
}

TEST(LongRows, AreCutAlongTheirKeys_WhenTilesAreFew) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 147, .documents = {99'852}});
  const WorkList list = cut(plan_of("longformer", 4, layout), Passes::forward);
  std::int32_t parts = 0;
  for (const cuda::WorkMerge& merge : list.merges) {
    EXPECT_GE(merge.parts, 10);
    parts += merge.parts;
  }
  EXPECT_EQ(list.merges.size(), 3U);
  EXPECT_GE(parts * list.heads, 500);
  for (const WorkUnit& unit : list.units) EXPECT_LE(unit.slots * 16, 100'000 / 10);
}

TEST(LongRows, AreLeftWhole_WhenTilesAreMany) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 0, .documents = {9000}});
  EXPECT_TRUE(cut(plan_of("full", 0, layout), Passes::forward).merges.empty());
}

/// A few rows whose keys no tile stages: their 4096 keys are shared out over units of their own.
TEST(NarrowRows, ThatNoTileServes_AreCutIntoUnitsOfTheirOwn) {
  AttentionPlan plan{.tokens = 4108, .heads = 1, .tasks{}, .segments{}, .indices{}};
  plan.segments = {{.keys = {12, 4108}}};
  plan.tasks = {{.queries = {0, 12}, .heads = {0, 1}, .first_segment = 0, .segment_count = 1},
                {.queries = {12, 4108}, .heads = {0, 1}, .first_segment = 0, .segment_count = 0}};
  const WorkList list = cut(plan, Passes::forward);
  ASSERT_EQ(list.merges.size(), 1U);
  EXPECT_EQ(list.merges[0].parts, 8);
  EXPECT_EQ(std::ranges::count(list.units, 12, [](const WorkUnit& u) { return u.run.count; }), 8);
  for (const WorkUnit& unit : list.units) EXPECT_LE(unit.slots, 4096 / 16 / 8);
}

TEST(RowsWithoutKeys, AreUnitsWithoutSpans) {
  AttentionPlan plan{.tokens = 100, .heads = 2, .tasks{}, .segments{}, .indices{}};
  plan.tasks = {{.queries = {0, 100}, .heads = {0, 2}, .first_segment = 0, .segment_count = 0}};
  const WorkList list = cut(plan);
  EXPECT_EQ(list.forward_units, 2);
  EXPECT_EQ(list.units.size(), 6U);
  for (const WorkUnit& unit : list.units) EXPECT_EQ(unit.spans, 0);
}

TEST(RowsWithoutKeys, GoAlongWithATile_WhenTheyAreFew) {
  AttentionPlan plan{.tokens = 60, .heads = 1, .tasks{}, .segments{}, .indices{}};
  plan.segments = {{.keys = {10, 60}}};
  plan.tasks = {{.queries = {0, 10}, .heads = {0, 1}, .first_segment = 0, .segment_count = 0},
                {.queries = {10, 60}, .heads = {0, 1}, .first_segment = 0, .segment_count = 1}};
  const WorkList list = cut(plan);
  ASSERT_EQ(list.units.size(), 3U);
  for (const WorkUnit& unit : list.units) {
    EXPECT_EQ(unit.run.begin, 10);
    EXPECT_EQ(unit.extras, 1);
  }
}

TEST(AnEmptyPlan, HasNoUnits) {
  const AttentionPlan plan{.tokens = 0, .heads = 4, .tasks{}, .segments{}, .indices{}};
  EXPECT_TRUE(cut(plan).units.empty());
}

TEST(TooManyTokens, AreDeclinedWithTheirNumber) {
  const AttentionPlan plan{
      .tokens = std::int64_t{3'000'000'000}, .heads = 1, .tasks{}, .segments{}, .indices{}};
  const Result<WorkList> list = cuda::cut_into_units(plan, 32, Passes::forward);
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message, ::testing::HasSubstr("3000000000"));
  EXPECT_THAT(list.error().message, ::testing::HasSubstr("smaller"));
}

class MillionTokens : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Shapes, MillionTokens, ::testing::Values("sparse", "longformer", "qds"));

TEST_P(MillionTokens, TakeListsThatGrowWithThem) {
  const auto list_of = [](std::int64_t documents) {
    return cut(plan_of(GetParam(), 4,
                       SequenceLayout::uniform(documents, {.query = 11, .documents = {4084}})));
  };
  const WorkList few = list_of(125);
  const WorkList many = list_of(250);
  EXPECT_GT(many.tokens, 1'000'000);
  EXPECT_EQ(many.units.size(), 2 * few.units.size());
  EXPECT_EQ(many.spans.size(), 2 * few.spans.size());
  EXPECT_EQ(many.rules.size(), 2 * few.rules.size());
  EXPECT_EQ(many.partial_rows, 2 * few.partial_rows);
  EXPECT_EQ(slots_of(many.units), 2 * slots_of(few.units));
  EXPECT_LE(many.units.size(), 3U * 1'024'000 / 64 * 11 / 10);
  EXPECT_TRUE(is_within_bounds(many));
  EXPECT_TRUE(writes_all_once(many));
  EXPECT_TRUE(wastes_nothing(many));
}

TEST(OneDocumentOfAMillionTokens, TakesATileEvery64Tokens_AndSomeForItsLongRow) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 11, .documents = {1'000'000}});
  const WorkList list = cut(plan_of("sparse", 4, layout));
  EXPECT_GE(list.forward_units, 1'000'000 / 64);
  EXPECT_LE(list.forward_units, 1'000'000 / 60);
  EXPECT_TRUE(is_within_bounds(list));
  EXPECT_TRUE(writes_all_once(list));
}

TEST(WorkLists, AreTheSameEveryTime) {
  const AttentionPlan plan = plan_of("qds", 4, passages(3));
  const WorkList first = cut(plan), second = cut(plan);
  ASSERT_EQ(first.units.size(), second.units.size());
  EXPECT_EQ(first.indices, second.indices);
  for (std::size_t i = 0; i < first.units.size(); ++i) {
    EXPECT_EQ(first.units[i].run.begin, second.units[i].run.begin);
    EXPECT_EQ(first.units[i].first_span, second.units[i].first_span);
    EXPECT_EQ(first.units[i].first_extra, second.units[i].first_extra);
  }
}

}  // namespace
}  // namespace attnscope::testing
