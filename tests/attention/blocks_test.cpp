// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/pattern/oracle.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using tests::item;
using tests::SmallProblem;
using tests::usual;

bool is_full(const SmallProblem& small) {
  return is_full_attention(small.layout, small.plan);
}

TEST(FullAttention, IsReadFromThePlanAndNotFromTheName) {
  EXPECT_TRUE(is_full(SmallProblem("full", std::nullopt, usual())));
  EXPECT_TRUE(is_full(SmallProblem(
      R"({"name":"mine","attends":{
          "cls":{"cls":"whole","query":"whole","document":"whole"},
          "query":{"cls":"whole","query":"whole","document":"whole"},
          "document":{"cls":"whole","query":"whole","document":"whole"}}})",
      std::nullopt, usual())));
}

TEST(FullAttention, AWindowThatCoversTheDocumentIsFull) {
  EXPECT_TRUE(is_full(SmallProblem("longformer", Window::infinite(), usual(), 2)));
}

TEST(FullAttention, ASingleKeyLessIsNotFull) {
  EXPECT_FALSE(is_full(SmallProblem("sparse", Window::infinite(), usual())));
  EXPECT_FALSE(is_full(SmallProblem("longformer", Window::of(7), usual())));
}

TEST(FullAttention, DocumentsOfAListDoNotSeeEachOther) {
  LayoutItem list;
  list.documents = {4, 5};
  EXPECT_FALSE(is_full(SmallProblem("full", std::nullopt, SequenceLayout::uniform(1, list))));
}

TEST(Blocks, AUniformBatchIsOneBlock) {
  const auto blocks = blocks_of(usual());
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].batch, 2);
  EXPECT_EQ(blocks[0].rows(), 13);
  EXPECT_EQ(blocks[0].columns(), 13);
}

TEST(Blocks, ItemsThatDifferInSentencesAloneAreBlocksOfTheirOwn) {
  LayoutItem first = item(1, 3, 9);
  LayoutItem second = first;
  first.sentences = {0};
  second.sentences = {4};
  first.sentences_given = second.sentences_given = true;
  EXPECT_EQ(blocks_of(SequenceLayout::make({first, second}).value()).size(), 2U);
  EXPECT_EQ(blocks_of(SequenceLayout::make({first, first}).value()).size(), 1U);
}

TEST(Blocks, RaggedItemsAreBlocksAndEmptyOnesAreNone) {
  const auto layout = SequenceLayout::make({item(1, 3, 9), item(0, 0, 0), item(1, 0, 1)}).value();
  const auto blocks = blocks_of(layout);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[1].queries, (TokenRange{13, 15}));
  EXPECT_TRUE(blocks_of(SequenceLayout()).empty());
}

TEST(Blocks, ASharedQueryIsABlockAndTheFirstColumnsOfEveryOther) {
  const auto blocks = blocks_of(SequenceLayout::make({item(1, 0, 4), item(1, 0, 4)}, 3).value());
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0].queries, (TokenRange{0, 3}));
  EXPECT_EQ(blocks[0].columns(), 3);
  EXPECT_EQ(blocks[2].shared_keys, (TokenRange{0, 3}));
  EXPECT_EQ(blocks[2].columns(), 8);
}

TEST(VisibleColumns, AreTheOraclesPairs) {
  const auto ragged = SequenceLayout::make({item(1, 3, 9), item(1, 0, 6)}).value();
  const auto shared = SequenceLayout::make({item(1, 0, 9), item(1, 0, 6)}, 3).value();
  for (const SequenceLayout& layout : {ragged, shared}) {
    const SmallProblem small("sparse", Window::of(2), layout);
    const Oracle oracle(small.attention_pattern, Window::of(2), small.layout);
    const TaskIndex tasks(small.plan);
    EXPECT_FALSE(tasks.differs_by_head());
    for (const Block& block : blocks_of(small.layout)) {
      for (std::int64_t row = 0; row < block.rows(); ++row) {
        std::vector<bool> seen(static_cast<std::size_t>(block.columns()));
        for (const TokenRange& run : visible_columns(small.plan, tasks, block, row, 0)) {
          for (auto c = run.begin; c < run.end; ++c) seen[static_cast<std::size_t>(c)] = true;
        }
        for (std::int64_t column = 0; column < block.columns(); ++column) {
          const std::int64_t key = column < block.shared_keys.size()
                                       ? column
                                       : block.own_keys.begin + column - block.shared_keys.size();
          EXPECT_EQ(seen[static_cast<std::size_t>(column)],
                    oracle.allowed(0, block.queries.begin + row, key))
              << oracle.explain(block.queries.begin + row, key);
        }
      }
    }
  }
}

TEST(TaskIndex, FindsTasksThatCoverAPartOfTheHeads) {
  AttentionPlan plan;
  plan.tokens = 2;
  plan.heads = 3;
  plan.segments = {{.keys = {0, 2}}, {.keys = {1, 2}}};
  plan.tasks = {{.queries = {0, 2}, .heads = {0, 1}, .first_segment = 0, .segment_count = 1},
                {.queries = {0, 2}, .heads = {1, 3}, .first_segment = 1, .segment_count = 1}};
  const TaskIndex tasks(plan);
  EXPECT_TRUE(tasks.differs_by_head());
  const Block block{.queries = {0, 2}, .own_keys = {0, 2}};
  EXPECT_THAT(visible_columns(plan, tasks, block, 0, 0), ElementsAre(TokenRange{0, 2}));
  EXPECT_THAT(visible_columns(plan, tasks, block, 0, 2), ElementsAre(TokenRange{1, 2}));
}

}  // namespace
}  // namespace attnscope
