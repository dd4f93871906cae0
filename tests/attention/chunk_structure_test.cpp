// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/chunk_structure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(ChunkStructure, OfLongformerIsOneRunOfTheWholeItemWithGlobalRowsComputedDensely) {
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

TEST(ChunkStructure, OfSparseComputesTheQueryDenselyOnItselfAlone) {
  const SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(1, item(1, 11, 88)));
  const ChunkStructure structure = structure_of(small);
  EXPECT_THAT(structure.items[0].dense,
              ElementsAre(DenseRows{.rows = {{0, 1}}, .keys = {{0, 100}}},
                          DenseRows{.rows = {{1, 12}}, .keys = {{1, 12}}}));
  EXPECT_THAT(structure.items[0].runs[0].globals, ElementsAre(TokenRange{0, 12}));
}

TEST(ChunkStructure, OfQdsTakesScatteredSentenceStartsOutOfRowsAndBand) {
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

TEST(ChunkStructure, OfDocumentsAloneHasNoGlobals) {
  const SmallProblem small("sparse", Window::of(2),
                           SequenceLayout::make({item(0, 0, 9), item(0, 0, 5)}).value());
  const ChunkStructure structure = structure_of(small);
  ASSERT_EQ(structure.items.size(), 2U);
  EXPECT_THAT(structure.items[1].runs,
              ElementsAre(ChunkedRun{
                  .tokens = {9, 14}, .rows = {{9, 14}}, .band_keys = {{9, 14}}, .globals = {}}));
  EXPECT_THAT(structure.items[1].dense, IsEmpty());
}

TEST(ChunkStructure, ADocumentInsideItsWindowIsChunkedAllTheSame) {
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

TEST(ChunkStructure, DocumentsOfAListAreRunsOfTheirOwn) {
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

TEST(ChunkStructure, TheSharedQueryIsGlobalToEveryItemAndComputedOnce) {
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

TEST(ChunkStructure, RowsThatSeeNothingAreDenseRowsWithoutKeys) {
  const SmallProblem small(R"({"name":"band","attends":{"document":{"document":"window"}}})",
                           Window::of(2), SequenceLayout::uniform(1, item(1, 3, 9)));
  const ChunkStructure structure = structure_of(small);
  EXPECT_THAT(structure.items[0].dense, ElementsAre(DenseRows{.rows = {{0, 4}}, .keys = {}}));
  EXPECT_THAT(structure.items[0].runs[0].globals, IsEmpty());
}

TEST(ChunkStructure, RefusesPatternsAndLayoutsWithoutAWindow) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 3, 20));
  EXPECT_THAT(refusal({"full", std::nullopt, layout}),
              HasSubstr("needs a window, and pattern 'full' has none"));
  EXPECT_THAT(refusal({"sparse", Window::infinite(), layout}), HasSubstr("needs a window"));
  EXPECT_THAT(refusal({"sparse", Window::of(4), SequenceLayout::uniform(1, item(1, 3, 0))}),
              HasSubstr("no token with a window"));
}

TEST(ChunkStructure, RefusesWindowsThatChunksCannotHave) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 3, 20));
  EXPECT_THAT(refusal({"sparse", Window::of(0), layout}), HasSubstr("needs w >= 1, not 0"));
  EXPECT_THAT(refusal({"sparse", Window::of(1'000'001), layout}), HasSubstr("w <= 1000000"));
}

TEST(ChunkStructure, RefusesTwoWindows) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(0, 20, 20));
  EXPECT_THAT(
      refusal(
          {R"({"name":"two","attends":{"query":{"query":{"window":2}},"document":{"document":"window"}}})",
           Window::of(4), layout}),
      HasSubstr("takes one window, and pattern 'two' has 2 and 4"));
}

TEST(ChunkStructure, RefusesGlobalKeysThatDifferBetweenRowsOfADocument) {
  LayoutItem with_sentences = item(1, 3, 20);
  with_sentences.sentences = {5, 11};
  with_sentences.sentences_given = true;
  // Sentence starts see [CLS], the rest of the document does not, in one and the same window.
  EXPECT_THAT(refusal({R"({"name":"uneven","attends":{
                           "document":{"document":"window","sentence":"window"},
                           "sentence":{"document":"window","sentence":"window","cls":"whole"}}})",
                       Window::of(2), SequenceLayout::uniform(1, with_sentences)}),
              HasSubstr("the same global keys"));
}

TEST(ChunkStructure, RefusesAWindowedTokenWithoutAKey) {
  LayoutItem all_sentences = item(0, 0, 20);
  all_sentences.sentences = {8, 9, 10, 11, 12};
  all_sentences.sentences_given = true;
  // Sentence starts look at other document tokens alone, and the one at 10 has none near.
  EXPECT_THAT(refusal({R"({"name":"blind","attends":{"document":{"document":"window"},
                                                     "sentence":{"document":"window"}}})",
                       Window::of(2), SequenceLayout::uniform(1, all_sentences)}),
              HasSubstr("token 10 has none"));
}

TEST(ChunkStructure, RefusesMasksThatDifferByHead_AndBlocks) {
  SmallProblem by_head("sparse", Window::of(4), SequenceLayout::uniform(1, item(0, 0, 20)));
  Task second = by_head.plan.tasks[0];
  by_head.plan.tasks[0].heads = {0, 1};
  second.heads = {1, 2};
  by_head.plan.tasks.push_back(second);
  EXPECT_THAT(refusal(by_head), HasSubstr("alike in all heads"));

  SmallProblem blocks("sparse", Window::of(4), SequenceLayout::uniform(1, item(0, 0, 20)));
  blocks.plan.segments[0].kind = SegmentKind::block;
  EXPECT_THAT(refusal(blocks), HasSubstr("attends to blocks"));
}

TEST(ChunkStructure, RefusesWindowsAsideOfTheirRow) {
  SmallProblem aside("sparse", Window::of(4), SequenceLayout::uniform(1, item(0, 0, 20)));
  aside.plan.segments[0].offset = 1;
  EXPECT_THAT(refusal(aside), HasSubstr("around its own row"));
}

}  // namespace
}  // namespace attnscope
