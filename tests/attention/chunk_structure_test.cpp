// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/chunk_structure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using tests::item;
using tests::SmallProblem;
using tests::text_of;

/// A line for each item: its batch, the rows of each run with the keys of their windows and their
/// globals, and the dense rows with their keys.
std::vector<std::string> text_of(const ChunkStructure& structure) {
  std::vector<std::string> lines;
  for (const ChunkedItem& item : structure.items) {
    std::string& line = lines.emplace_back(fmt::format("{} x", item.block.batch));
    for (const ChunkedRun& run : item.runs) {
      line += fmt::format("; run {}: {} in {} and on {}", text_of(TokenRanges{run.tokens}),
                          text_of(run.rows), text_of(run.band_keys), text_of(run.globals));
    }
    for (const DenseRows& dense : item.dense)
      line += fmt::format("; {} on {}", text_of(dense.rows), text_of(dense.keys));
  }
  return lines;
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

TEST(ChunkStructure, IsRunsWithGlobalsAndDenseRows) {
  struct Case {
    const char* pattern;
    std::int64_t window;
    SequenceLayout layout;
    std::vector<std::string> expected;
  };
  for (const Case& c : std::vector<Case>{
           {"longformer",
            4,
            SequenceLayout::uniform(3, item(1, 11, 88)),  // the same for all three
            {"3 x; run 0-100: 12-100 in 12-100 and on 0-12; 0-12 on 0-100"}},
           {"sparse",
            4,
            SequenceLayout::uniform(1, item(1, 11, 88)),  // the query is dense on itself
            {"1 x; run 0-100: 12-100 in 12-100 and on 0-12; 0-1 on 0-100; 1-12 on 1-12"}},
           {"qds",
            4,
            SequenceLayout::uniform(1, item(1, 2, 70)),  // with sentences at tokens 0, 30 and 60
            {"1 x; run 0-73: 4-33 34-63 64-73 in 4-33 34-63 64-73 and on 0-4 33-34 63-64; "
             "0-4 33-34 63-64 on 0-73"}},
           {"sparse",
            2,
            SequenceLayout::make({item(0, 0, 9), item(0, 0, 5)}).value(),
            {"1 x; run 0-9: 0-9 in 0-9 and on none", "1 x; run 9-14: 9-14 in 9-14 and on none"}},
           {"longformer",
            64,
            SequenceLayout::uniform(1, item(1, 2, 20)),  // shorter than its window
            {"1 x; run 0-23: 3-23 in 3-23 and on 0-3; 0-3 on 0-23"}},
           {"sparse",
            4,
            SequenceLayout::uniform(1, list_item(5, {16, 0, 19})),
            {"1 x; run 6-22: 6-22 in 6-22 and on 0-6; run 22-41: 22-41 in 22-41 and on 0-6; "
             "0-1 on 0-41; 1-6 on 1-6"}},
           {"sparse",
            4,
            SequenceLayout::make({item(1, 0, 20), item(1, 0, 30)}, 6).value(),
            {"1 x; 0-6 on 0-6", "1 x; run 6-27: 7-27 in 7-27 and on 0-7; 6-7 on 0-27",
             "1 x; run 27-58: 28-58 in 28-58 and on 0-6 27-28; 27-28 on 0-6 27-58"}},
           {R"({"name":"band","attends":{"document":{"document":"window"}}})",
            2,
            SequenceLayout::uniform(1, item(1, 3, 9)),  // rows without keys
            {"1 x; run 0-13: 4-13 in 4-13 and on none; 0-4 on none"}}}) {
    const SmallProblem small(c.pattern, Window::of(c.window), c.layout);
    const auto structure = chunk_structure(small.problem);
    ASSERT_TRUE(structure) << structure.error().message;
    EXPECT_EQ(structure->window, c.window);
    EXPECT_EQ(text_of(*structure), c.expected) << c.pattern;
  }
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
