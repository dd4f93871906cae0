// SPDX-License-Identifier: Apache-2.0
//
// Walks and the remaining units compute each allowed pair once and satisfy what the kernel relies
// on. The checks read the lists as kernels/cuda/work_list.h specifies, and share no code with the
// functions that create them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/cuda/work_list.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/cuda_work/list_checks.h"
#include "tests/kernels/plans.h"

namespace attnscope::testing {
namespace {

using cuda::WalkList;
using cuda::Walks;
using cuda::WorkRun;
using cuda::WorkWalk;
using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

std::int32_t end_of(const WorkRun& run) {
  return run.begin + run.count;
}

std::vector<std::int32_t> globals_of(const WalkList& list, const WorkWalk& walk) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < walk.globals.count; ++i) {
    const std::int32_t at = walk.globals.begin + i;
    tokens.push_back(walk.globals.listed != 0 ? list.indices.at(static_cast<std::size_t>(at)) : at);
  }
  return tokens;
}

/// How often each pair of a head is computed, at row * tokens + key.
class Pairs {
 public:
  explicit Pairs(std::int64_t tokens)
      : tokens_(tokens), counts_(static_cast<std::size_t>(tokens * tokens)) {}

  void add(std::int64_t row, std::int64_t key) {
    ++counts_.at(static_cast<std::size_t>(row * tokens_ + key));
  }
  friend bool operator==(const Pairs&, const Pairs&) = default;

 private:
  std::int64_t tokens_;
  std::vector<int> counts_;
};

/// The walks of a plan for a head dimension.
struct Made {
  Walks walks;
  std::int64_t head_dim;

  /// Whether the walk's warp takes the step with this token.
  [[nodiscard]] bool takes(const WorkWalk& walk, std::int32_t token) const {
    const std::int32_t step_tokens = 16 * cuda::broad_strips_of(head_dim);
    const std::int32_t step = std::max(0, token - walk.rows.begin) / step_tokens;
    return step % walk.steps_apart == walk.first_step;
  }
};

void add_pairs(const Made& made, const WalkList& list, const WorkWalk& walk, Pairs& pairs) {
  const std::vector<std::int32_t> globals = globals_of(list, walk);
  for (std::int32_t row = walk.rows.begin; row < end_of(walk.rows); ++row) {
    if (!made.takes(walk, row)) continue;
    for (const std::int32_t key : globals) pairs.add(row, key);
    for (std::int32_t key = walk.keys_begin; key < walk.keys_end; ++key) {
      if (std::abs(key - row) <= walk.window) pairs.add(row, key);
    }
  }
  for (std::int32_t row = walk.wide.begin; row < end_of(walk.wide); ++row) {
    for (std::int32_t key = walk.wide_begin; key < walk.wide_end; ++key) {
      if (made.takes(walk, key)) pairs.add(row, key);
    }
    if (walk.wide_takes_globals == 0) continue;
    for (const std::int32_t key : globals) pairs.add(row, key);
  }
}

std::span<const cuda::WorkUnit> rest_of(const Walks& walks, bool by_keys) {
  return by_keys ? key_units(walks.rest) : row_units(walks.rest);
}

/// The pairs that the walks of a pass compute. In a pass by keys, the tokens of a unit are keys.
Pairs pairs_of(const Made& made, const WalkList& list, bool by_keys) {
  const cuda::WorkList& rest = made.walks.rest;
  Pairs pairs(rest.tokens);
  for (const WorkWalk& walk : list.walks) add_pairs(made, list, walk, pairs);
  for (const cuda::WorkUnit& unit : rest_of(made.walks, by_keys)) {
    for_each_pair(rest, unit, [&](std::int32_t row, std::int32_t key) { pairs.add(row, key); });
  }
  return pairs;
}

AssertionResult is_sound(const WalkList& list, const WorkWalk& walk) {
  const bool broad = list.shape.broad;
  const std::int32_t radius = broad ? 0 : cuda::radius_of(list.shape.far);
  if (walk.rows.listed != 0 || walk.wide.listed != 0) return AssertionFailure() << "listed rows";
  if (walk.rows.count > 0 &&
      (walk.keys_begin > walk.rows.begin || walk.keys_end < end_of(walk.rows))) {
    return AssertionFailure() << "rows that are not among their keys";
  }
  if (walk.window > (broad ? cuda::broadest_window : radius))
    return AssertionFailure() << "a window of " << walk.window;
  if (walk.globals.count > cuda::most_globals(list.shape.many) ||
      walk.wide.count > cuda::most_wide_rows(list.shape.many)) {
    return AssertionFailure() << "more globals or wide rows than the kernel supports";
  }
  if (walk.wide.count == 0 || walk.rows.count == 0) return AssertionSuccess();
  // The strips visit the keys from a window before the first row to a window after the last one;
  // broad strips give the wide rows the keys next to their own rows.
  const std::int32_t step = broad ? 16 * cuda::broad_strips_of(32) : 16;
  const std::int32_t steps = (walk.rows.count + step - 1) / step;
  if (walk.wide_begin < walk.rows.begin - radius ||
      walk.wide_end > walk.rows.begin + step * steps + radius) {
    return AssertionFailure() << "wide rows use keys that the strips do not visit";
  }
  return AssertionSuccess();
}

/// Every partial row is written once, those of a merge in the order of its walks.
AssertionResult writes_all_partial_rows(const WalkList& list) {
  std::set<std::int32_t> left;
  for (const WorkWalk& walk : list.walks) {
    if (walk.first_slot < 0) continue;
    for (std::int32_t row = 0; row < walk.wide.count; ++row) {
      if (!left.insert(walk.first_slot + row).second)
        return AssertionFailure() << "a partial row is written twice";
    }
  }
  std::int32_t expected = 0;
  for (const cuda::WorkMerge& merge : list.merges) {
    if (merge.first_slot != expected || merge.parts < 2 || merge.run.count > list.widest_merge) {
      return AssertionFailure() << "a merge out of place";
    }
    expected += merge.parts * merge.run.count;
  }
  if (expected != list.partial_rows || static_cast<std::int32_t>(left.size()) != expected ||
      (expected > 0 && *left.rbegin() != expected - 1)) {
    return AssertionFailure() << left.size() << " partial rows of " << list.partial_rows;
  }
  return AssertionSuccess();
}

/// Every row is written once, by a walk, a merge or a remaining unit.
AssertionResult writes_all_rows(const Made& made, const WalkList& list, bool by_keys) {
  const Walks& walks = made.walks;
  std::vector<int> written(static_cast<std::size_t>(walks.rest.tokens));
  const auto write = [&](std::int32_t token) { ++written.at(static_cast<std::size_t>(token)); };
  for (const WorkWalk& walk : list.walks) {
    for (std::int32_t row = walk.rows.begin; row < end_of(walk.rows); ++row) {
      if (made.takes(walk, row)) write(row);
    }
    if (walk.first_slot >= 0) continue;
    for (std::int32_t row = walk.wide.begin; row < end_of(walk.wide); ++row) write(row);
  }
  for (const cuda::WorkMerge& merge : list.merges) {
    for (std::int32_t row = merge.run.begin; row < end_of(merge.run); ++row) write(row);
  }
  for (const cuda::WorkUnit& unit : rest_of(walks, by_keys)) {
    for (std::int32_t i = 0; i < unit.run.count; ++i) write(token_of(walks.rest, unit.run, i));
  }
  const auto wrong = std::ranges::find_if(written, [](int times) { return times != 1; });
  if (wrong == written.end()) return AssertionSuccess();
  return AssertionFailure() << "row " << wrong - written.begin() << " is written " << *wrong
                            << " times";
}

/// Walks with alternate steps come in pairs, each of which is the two warps of a block.
AssertionResult pairs_are_blocks(const Made& made, const WalkList& list) {
  for (std::size_t i = 0; i < list.walks.size(); ++i) {
    const WorkWalk& walk = list.walks[i];
    if (walk.steps_apart == 1) continue;
    if (!list.by_head) return AssertionFailure() << "a pair that is not in one block";
    const WorkWalk& first = list.walks[i / 2 * 2];
    if (walk.rows.begin != first.rows.begin || walk.rows.count != first.rows.count ||
        walk.first_step != static_cast<std::int32_t>(i % 2)) {
      return AssertionFailure() << "walk " << i << " is not one of a pair";
    }
    if (walk.rows.count <= 16 * cuda::broad_strips_of(made.head_dim))
      return AssertionFailure() << "walk " << i << " has no step for one of the warps";
  }
  return AssertionSuccess();
}

AssertionResult walks_well(const Made& made, const WalkList& list, bool by_keys,
                           const Pairs& wanted) {
  for (const WorkWalk& walk : list.walks) {
    if (AssertionResult sound = is_sound(list, walk); !sound) return sound;
  }
  if (AssertionResult all = pairs_are_blocks(made, list); !all) return all;
  if (AssertionResult all = writes_all_partial_rows(list); !all) return all;
  if (AssertionResult all = writes_all_rows(made, list, by_keys); !all) return all;
  if (pairs_of(made, list, by_keys) == wanted) return AssertionSuccess();
  return AssertionFailure() << "other pairs than the plan's";
}

/// Today's walks, and the variants, also with walks of more than four strips.
constexpr std::array<cuda::WalkCut, 5> cuts{
    {{},
     {.by_strips = true},
     {.by_strips = true, .processors = 0},
     {.alternate = true},
     {.by_strips = true, .alternate = true, .processors = 0}}};

/// Forward and, if there are walks of keys, backward. Succeeds if there are no walks.
AssertionResult walks_well(const AttentionPlan& plan, const KeysOf& keys_of, int& walked) {
  Pairs by_row(plan.tokens), by_key(plan.tokens);
  for (std::int64_t row = 0; row < plan.tokens; ++row) {
    for (const std::int64_t key : keys_of(row, 0)) {
      by_row.add(row, key);
      by_key.add(key, row);
    }
  }
  for (std::size_t i = 0; i < 2 * cuts.size(); ++i) {
    const std::int64_t head_dim = i % 2 == 0 ? 32 : 64;
    const auto walks = cuda::cut_into_walks(plan, head_dim, DType::float16,
                                            Passes::forward_backward, cuts.at(i / 2));
    if (!walks) continue;
    ++walked;
    const Made made{*walks, head_dim};
    AssertionResult result = is_within_bounds(walks->rest);
    if (result) result = walks_well(made, walks->rows, false, by_row);
    if (result && walks->keys) result = walks_well(made, *walks->keys, true, by_key);
    if (!result) return result << ", cut " << i / 2 << ", head dimension " << head_dim;
  }
  return AssertionSuccess();
}

TEST(WalkLists, OfTheCasesOfTheKernels_AreComputedOnce) {
  int walked = 0;
  for (const auto& cases :
       {cases_of_windows(DType::float16), cases_of_lengths(DType::float16),
        cases_of_layouts(DType::float16), cases_of_narrow_windows(DType::float16)}) {
    for (const AttentionCase& problem : cases) {
      ASSERT_TRUE(walks_well(problem.plan(), problem.keys(), walked)) << problem.text();
    }
  }
  EXPECT_GT(walked, 750);
}

TEST(WalkLists, OfOtherPlans_AreComputedOnce) {
  int walked = 0;
  for (const HandMadePlan& made : hand_made_plans()) {
    EXPECT_TRUE(walks_well(made.plan, keys_from_plan(made.plan), walked)) << made.name;
  }
  for (unsigned seed = 0; seed < 300; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    ASSERT_TRUE(walks_well(plan, keys_from_plan(plan), walked)) << seed << "\n" << text_of(plan);
  }
  EXPECT_GT(walked, 50);
}

Walks walks_of(const std::string& pattern, std::int64_t window, const SequenceLayout& layout,
               const cuda::WalkCut& cut = {}) {
  const AttentionPlan plan = *compile_plan(*find_pattern(pattern), Window::of(window), layout, 12);
  const auto walks = cuda::cut_into_walks(plan, 32, DType::bfloat16, Passes::forward_backward, cut);
  EXPECT_TRUE(walks);
  return walks.value_or(Walks{});
}

Walks walks_of(const std::string& pattern, std::int64_t window, std::int64_t items,
               std::int64_t document, const cuda::WalkCut& cut = {}) {
  return walks_of(pattern, window,
                  SequenceLayout::uniform(items, {.query = 11, .documents = {document}}), cut);
}

TEST(SparsePassages, AreWalkedByRowsAndByKeysWithoutUnits) {
  const Walks walks = walks_of("sparse", 4, 100, 162);
  EXPECT_TRUE(walks.rest.units.empty());
  EXPECT_FALSE(walks.rows.shape.far || walks.rows.shape.many);
  // A document's 11 strips are a walk, and the query's rows are one; [CLS] needs no merge.
  EXPECT_EQ(walks.rows.walks.size(), 200U);
  EXPECT_EQ(walks.rows.merges.size(), 0U);
  EXPECT_EQ(walks.rows.partial_rows, 0);
  // A document's keys, whose global is the row of [CLS]; what else sees the key of [CLS], and those
  // of the query. [CLS] and query are wide keys.
  ASSERT_TRUE(walks.keys);
  EXPECT_EQ(walks.keys->walks.size(), 300U);
  EXPECT_EQ(walks.keys->merges.at(0).run.count, 12);
  EXPECT_EQ(walks.keys->merges.at(0).parts, 2);
}

TEST(SparsePassages, CutByStrips_GiveEveryWarpOfTheGpuWork_TheLongWalksFirst) {
  const Walks walks = walks_of("sparse", 4, 100, 162, {.by_strips = true});
  // 1,200 heads and documents have 12 strips: of walks of 6 there are more than 132 * 16.
  ASSERT_EQ(walks.rows.walks.size(), 300U);
  EXPECT_EQ(walks.rows.partial_rows, 200);
  for (std::size_t i = 0; i < walks.rows.walks.size(); ++i) {
    const std::int32_t rows = walks.rows.walks[i].rows.count;
    EXPECT_TRUE(i < 200 ? rows > 64 && rows <= 96 : rows == 11) << i << ": " << rows;
  }
  EXPECT_EQ(walks_of("sparse", 4, 100, 4084, {.by_strips = true}).rows.walks.size(), 1700U);
}

TEST(SparsePassages, WithAlternateSteps_HaveTwoWarpsForTheSameRowsIfTheKernelSharesThem) {
  const cuda::WalkCut cut{.alternate = true};
  const auto in_pairs = [](const WalkList& list) {
    return std::ranges::count(list.walks, 2, &WorkWalk::steps_apart);
  };
  const Walks broad = walks_of("sparse", 64, 100, 162, cut);
  EXPECT_EQ(in_pairs(broad.rows), 200);
  EXPECT_EQ(in_pairs(*broad.keys), 200);
  // Narrow walks keep a strip's keys for the next strip.
  const Walks narrow = walks_of("sparse", 4, 100, 162, cut);
  EXPECT_EQ(in_pairs(narrow.rows), 0);
  EXPECT_EQ(in_pairs(*narrow.keys), 200);
}

TEST(SparsePassage, IsSplitIntoWalks_ToFillTheGpu) {
  const Walks walks = walks_of("sparse", 4, 1, 162);
  EXPECT_EQ(walks.rows.walks.size(), 4U);
  EXPECT_EQ(walks.rows.merges.at(0).parts, 3);
  EXPECT_EQ(walks.rows.partial_rows, 3);
}

TEST(SparseDocuments, AreWalkedInStretchesOf256Rows) {
  for (const std::int64_t window : {4, 64}) {
    const Walks walks = walks_of("sparse", window, 100, 4084);
    EXPECT_TRUE(walks.rest.units.empty()) << window;
    ASSERT_TRUE(walks.keys) << window;
    EXPECT_EQ(walks.rows.shape.broad, window == 64);
    EXPECT_EQ(walks.keys->shape.broad, window == 64);
    EXPECT_EQ(walks.rows.walks.size(), 1700U) << window;
    EXPECT_EQ(walks.rows.merges.at(0).parts, 16) << window;
    for (const WorkWalk& walk : walks.rows.walks) EXPECT_LE(walk.rows.count, 256) << window;
  }
}

TEST(SharedQuery, IsAGlobalOfEveryItem) {
  const Walks walks = walks_of("sparse", 4, SequenceLayout::uniform(5, {.documents = {90}}, 12));
  EXPECT_EQ(walks.rest.row_units, 0);
  EXPECT_EQ(walks.rows.walks.back().globals.count, 13);
  EXPECT_EQ(walks.rows.walks.back().globals.listed, 1);
}

TEST(LongformerItem, HasClsAndQueryAsWideRows) {
  const Walks walks = walks_of("longformer", 16, 1, 400);
  EXPECT_EQ(walks.rest.row_units, 0);
  EXPECT_TRUE(walks.rows.shape.far && walks.rows.shape.many);
  EXPECT_EQ(walks.rows.merges.at(0).run.count, 12);
}

TEST(Walks, AreOnlyMadeForProblemsThatTheirKernelsSupport) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 11, .documents = {400}});
  const auto cut = [&](const char* pattern, std::int64_t window, std::int64_t head_dim,
                       DType dtype) {
    const AttentionPlan plan = *compile_plan(*find_pattern(pattern), Window::of(window), layout, 2);
    return cuda::cut_into_walks(plan, head_dim, dtype, Passes::forward);
  };
  EXPECT_FALSE(cut("sparse", 4, 32, DType::float32));
  EXPECT_FALSE(cut("sparse", 4, 48, DType::float16));
  EXPECT_FALSE(cut("full", 4, 32, DType::float16));
  EXPECT_FALSE(cut("longformer", 16, 64, DType::float16));
  EXPECT_TRUE(cut("longformer", 4, 64, DType::float16));
  EXPECT_TRUE(cut("longformer", 64, 64, DType::float16));
  EXPECT_TRUE(cut("sparse", 128, 32, DType::float16));
  EXPECT_FALSE(cut("sparse", 129, 32, DType::float16));
}

}  // namespace
}  // namespace attnscope::testing
