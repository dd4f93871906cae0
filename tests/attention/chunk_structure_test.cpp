// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/chunk_structure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::item;
using tests::SmallProblem;

ChunkStructure structure_of(const SmallProblem& small) {
  auto structure = chunk_structure(small.problem);
  EXPECT_TRUE(structure) << structure.error().message;
  return structure.value_or(ChunkStructure{});
}

std::string refusal(const SmallProblem& small) {
  const auto structure = chunk_structure(small.problem);
  return structure ? "" : structure.error().message;
}

LayoutItem list_item(std::int64_t query, std::vector<std::int64_t> documents) {
  LayoutItem item;
  item.query = query;
  item.documents = std::move(documents);
  return item;
}

TEST(ChunkStructure, LongformerIsOneRunOfTheItemWithDenseGlobalRows) {
  const SmallProblem small("longformer", Window::of(4),
                           SequenceLayout::uniform(3, item(1, 11, 88)));
  const ChunkStructure structure = structure_of(small);
  EXPECT_EQ(structure.window, 4);
  ASSERT_EQ(structure.items.size(), 1U);  // the same for all three
  EXPECT_EQ(structure.items[0].block.batch, 3);
  EXPECT_THAT(structure.items[0].runs, ElementsAre(ChunkedRun{.tokens = {0, 100},
                                                              .rows = {{12, 100}},
                                                              .band_keys = {{12, 100}},
                                                              .globals = {{0, 12}}}));
  EXPECT_THAT(structure.items[0].dense,
              ElementsAre(DenseRows{.rows = {{0, 12}}, .keys = {{0, 100}}}));
}

TEST(ChunkStructure, SparseComputesTheQueryDenselyOnItself) {
  const SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(1, item(1, 11, 88)));
  const ChunkStructure structure = structure_of(small);
  EXPECT_THAT(structure.items[0].dense,
              ElementsAre(DenseRows{.rows = {{0, 1}}, .keys = {{0, 100}}},
                          DenseRows{.rows = {{1, 12}}, .keys = {{1, 12}}}));
  EXPECT_THAT(structure.items[0].runs[0].globals, ElementsAre(TokenRange{0, 12}));
}

TEST(ChunkStructure, QdsExcludesSentenceStartsFromRowsAndBand) {
  const SmallProblem small("qds", Window::of(4), SequenceLayout::uniform(1, item(1, 2, 70)));
  const ChunkStructure structure = structure_of(small);
  // Sentences start at document tokens 0, 30 and 60.
  const TokenRanges others{{4, 33}, {34, 63}, {64, 73}};
  const TokenRanges globals{{0, 4}, {33, 34}, {63, 64}};
  EXPECT_THAT(structure.items[0].runs,
              ElementsAre(ChunkedRun{
                  .tokens = {0, 73}, .rows = others, .band_keys = others, .globals = globals}));
  EXPECT_THAT(structure.items[0].dense, ElementsAre(DenseRows{.rows = globals, .keys = {{0, 73}}}));
}

TEST(ChunkStructure, DocumentsWithoutQueryHaveNoGlobals) {
  const SmallProblem small("sparse", Window::of(2),
                           SequenceLayout::make({item(0, 0, 9), item(0, 0, 5)}).value());
  const ChunkStructure structure = structure_of(small);
  ASSERT_EQ(structure.items.size(), 2U);
  EXPECT_THAT(structure.items[1].runs,
              ElementsAre(ChunkedRun{
                  .tokens = {9, 14}, .rows = {{9, 14}}, .band_keys = {{9, 14}}, .globals = {}}));
  EXPECT_THAT(structure.items[1].dense, IsEmpty());
}

TEST(ChunkStructure, ADocumentShorterThanItsWindowIsChunked) {
  const SmallProblem small("longformer", Window::of(64),
                           SequenceLayout::uniform(1, item(1, 2, 20)));
  const ChunkStructure structure = structure_of(small);
  EXPECT_EQ(structure.window, 64);
  EXPECT_THAT(
      structure.items[0].runs,
      ElementsAre(ChunkedRun{
          .tokens = {0, 23}, .rows = {{3, 23}}, .band_keys = {{3, 23}}, .globals = {{0, 3}}}));
  EXPECT_THAT(structure.items[0].dense,
              ElementsAre(DenseRows{.rows = {{0, 3}}, .keys = {{0, 23}}}));
}

TEST(ChunkStructure, DocumentsOfAListAreSeparateRuns) {
  const SmallProblem small("sparse", Window::of(4),
                           SequenceLayout::uniform(1, list_item(5, {16, 0, 19})));
  const ChunkStructure structure = structure_of(small);
  ASSERT_EQ(structure.items[0].runs.size(), 2U);
  EXPECT_EQ(structure.items[0].runs[0].tokens, (TokenRange{6, 22}));
  EXPECT_EQ(structure.items[0].runs[1].tokens, (TokenRange{22, 41}));
  for (const ChunkedRun& run : structure.items[0].runs) {
    EXPECT_THAT(run.globals, ElementsAre(TokenRange{0, 6}));
  }
}

TEST(ChunkStructure, ASharedQueryIsGlobalToEveryItemAndComputedOnce) {
  const SmallProblem small("sparse", Window::of(4),
                           SequenceLayout::make({item(1, 0, 20), item(1, 0, 30)}, 6).value());
  const ChunkStructure structure = structure_of(small);
  ASSERT_EQ(structure.items.size(), 3U);
  EXPECT_THAT(structure.items[0].runs, IsEmpty());
  EXPECT_THAT(structure.items[0].dense, ElementsAre(DenseRows{.rows = {{0, 6}}, .keys = {{0, 6}}}));
  EXPECT_THAT(structure.items[2].runs, ElementsAre(ChunkedRun{.tokens = {27, 58},
                                                              .rows = {{28, 58}},
                                                              .band_keys = {{28, 58}},
                                                              .globals = {{0, 6}, {27, 28}}}));
}

TEST(ChunkStructure, RowsWithoutKeysAreDenseRowsWithoutKeys) {
  const SmallProblem small(R"({"name":"band","attends":{"document":{"document":"window"}}})",
                           Window::of(2), SequenceLayout::uniform(1, item(1, 3, 9)));
  const ChunkStructure structure = structure_of(small);
  EXPECT_THAT(structure.items[0].dense, ElementsAre(DenseRows{.rows = {{0, 4}}, .keys = {}}));
  EXPECT_THAT(structure.items[0].runs[0].globals, IsEmpty());
}

TEST(ChunkStructure, DeclinesPatternsAndLayoutsThatChunksCannotExpress) {
  LayoutItem uneven = item(1, 3, 20);
  uneven.sentences = {5, 11};
  uneven.sentences_given = true;
  LayoutItem blind = item(0, 0, 20);
  blind.sentences = {8, 9, 10, 11, 12};
  blind.sentences_given = true;
  struct Case {
    const char* pattern;
    std::optional<Window> window;
    LayoutItem item;
    const char* reason;
  };
  const LayoutItem usual = item(1, 3, 20);
  const std::vector<Case> cases{
      {"full", std::nullopt, usual, "needs a window, and pattern 'full' has none"},
      {"sparse", Window::infinite(), usual, "needs a window"},
      {"sparse", Window::of(4), item(1, 3, 0), "no token with a window"},
      {"sparse", Window::of(0), usual, "needs w >= 1, not 0"},
      {"sparse", Window::of(1'000'001), usual, "w <= 1000000"},
      {R"({"name":"two","attends":{"query":{"query":{"window":2}},"document":{"document":"window"}}})",
       Window::of(4), item(0, 20, 20), "supports one window, and pattern 'two' has 2 and 4"},
      // In one window sentence starts attend to [CLS], the rest of the document does not.
      {R"({"name":"uneven","attends":{
           "document":{"document":"window","sentence":"window"},
           "sentence":{"document":"window","sentence":"window","cls":"whole"}}})",
       Window::of(2), uneven, "the same global keys"},
      // Sentence starts attend only to other document tokens, and the one at 10 has none nearby.
      {R"({"name":"blind","attends":{"document":{"document":"window"},
                                     "sentence":{"document":"window"}}})",
       Window::of(2), blind, "token 10 has none"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(refusal({c.pattern, c.window, SequenceLayout::uniform(1, c.item)}),
                HasSubstr(c.reason));
  }
}

TEST(ChunkStructure, DeclinesHeadsThatDiffer_Blocks_AndShiftedWindows) {
  const auto changed = [](const std::function<void(AttentionPlan&)>& change) {
    SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(1, item(0, 0, 20)));
    change(small.plan);
    return refusal(small);
  };
  EXPECT_THAT(changed([](AttentionPlan& plan) {
                Task second = plan.tasks[0];
                plan.tasks[0].heads = {0, 1};
                second.heads = {1, 2};
                plan.tasks.push_back(second);
              }),
              HasSubstr("the same pairs in all heads"));
  EXPECT_THAT(changed([](AttentionPlan& plan) { plan.segments[0].kind = SegmentKind::block; }),
              HasSubstr("attends to blocks"));
  EXPECT_THAT(changed([](AttentionPlan& plan) { plan.segments[0].offset = 1; }),
              HasSubstr("centred on its own row"));
}

}  // namespace
}  // namespace attnscope
