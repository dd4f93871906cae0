// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/attention/windowed/windowed.h"
#include "engine/pattern/oracle.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::item;
using tests::SmallProblem;
using tests::text_of;
using tests::usual;

TEST(FullAttention, IsReadFromThePlan) {
  LayoutItem list;
  list.documents = {4, 5};
  struct Case {
    const char* pattern;
    std::optional<Window> window;
    SequenceLayout layout;
    bool full;
  };
  const std::vector<Case> cases{
      {"full", std::nullopt, usual(), true},
      {R"({"name":"mine","attends":{
          "cls":{"cls":"whole","query":"whole","document":"whole"},
          "query":{"cls":"whole","query":"whole","document":"whole"},
          "document":{"cls":"whole","query":"whole","document":"whole"}}})",
       std::nullopt, usual(), true},
      {"longformer", Window::infinite(), usual(), true},
      {"longformer", Window::of(7), usual(), false},  // one key is missing
      {"sparse", Window::infinite(), usual(), false},
      {"full", std::nullopt, SequenceLayout::uniform(1, list), false},  // documents are separate
  };
  for (const Case& c : cases) {
    const SmallProblem small(c.pattern, c.window, c.layout);
    EXPECT_EQ(is_full_attention(small.layout, small.plan), c.full) << c.pattern;
  }
}

TEST(Blocks, AreOnePerItem_OrOneForAUniformBatch) {
  LayoutItem first = item(1, 3, 9);
  LayoutItem second = first;
  first.sentences = {0};
  second.sentences = {4};
  first.sentences_given = second.sentences_given = true;
  struct Case {
    std::vector<LayoutItem> items;
    std::int64_t shared_query;
    std::vector<std::string> blocks;  // batch, queries, columns shared with other blocks and own
  };
  for (const Case& c :
       std::vector<Case>{{{item(1, 3, 9), item(1, 3, 9)}, 0, {"2: 0-13 on 0-0 0-13"}},
                         {{first, first}, 0, {"2: 0-13 on 0-0 0-13"}},
                         {{first, second}, 0, {"1: 0-13 on 0-0 0-13", "1: 13-26 on 0-0 13-26"}},
                         {{item(1, 3, 9), item(0, 0, 0), item(1, 0, 1)},
                          0,
                          {"1: 0-13 on 0-0 0-13", "1: 13-15 on 0-0 13-15"}},
                         {{item(1, 0, 4), item(1, 0, 4)},
                          3,
                          {"1: 0-3 on 0-0 0-3", "1: 3-8 on 0-3 3-8", "1: 8-13 on 0-3 8-13"}}}) {
    std::vector<std::string> found;
    for (const Block& block : blocks_of(SequenceLayout::make(c.items, c.shared_query).value())) {
      found.push_back(fmt::format(
          "{}: {} on {} {}", block.batch, text_of(std::vector{block.queries}),
          text_of(std::vector{block.shared_keys}), text_of(std::vector{block.own_keys})));
      EXPECT_EQ(block.columns(), block.shared_keys.size() + block.own_keys.size());
    }
    EXPECT_EQ(found, c.blocks);
  }
  EXPECT_TRUE(blocks_of(SequenceLayout()).empty());
}

TEST(VisibleColumns, AreThePairsOfTheOracle) {
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

TEST(TaskIndex, FindsTasksThatCoverPartOfTheHeads) {
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

// Plans that the two windowed products can compute.

SequenceLayout documents() {
  return SequenceLayout::make({item(0, 0, 9), item(0, 0, 0), item(0, 0, 4)}).value();
}

TEST(BandSequences, AreTheDocumentsOfALayoutWithoutClsAndQuery) {
  for (const auto& [window, expected] :
       {std::pair{Window::of(2), 2}, {Window::infinite(), 8}}) {  // the longest sequence
    const SmallProblem small("sparse", window, documents());
    const auto band = band_sequences(small.plan);
    ASSERT_TRUE(band) << band.error().message;
    EXPECT_THAT(band->sequences, ElementsAre(TokenRange{0, 9}, TokenRange{9, 13}));
    EXPECT_EQ(band->window, expected);
  }
}

TEST(BandSequences, DeclineRowsWithOtherKeysOrNone) {
  const SmallProblem small("sparse", Window::of(2), SequenceLayout::uniform(1, item(1, 3, 9)));
  const auto band = band_sequences(small.plan);
  ASSERT_FALSE(band);
  EXPECT_THAT(band.error().message, HasSubstr("use a layout of only documents"));
  EXPECT_FALSE(
      band_sequences(SmallProblem(R"({"name":"deaf","attends":{"document":{"query":"whole"}}})",
                                  std::nullopt, documents())
                         .plan));
  SmallProblem two("sparse", Window::of(2), documents());
  two.plan.segments.back().window = 3;
  EXPECT_THAT(band_sequences(two.plan).error().message,
              HasSubstr("supports one window, and this pattern has 2 and 3"));
}

}  // namespace
}  // namespace attnscope
