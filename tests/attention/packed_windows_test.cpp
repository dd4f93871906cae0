// SPDX-License-Identifier: Apache-2.0
//
// TKL's chunks as packed windows: what is packed, what it executes, and what is no such thing.
#include "engine/attention/sdpa/packed_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/attention/list.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using tests::item;
using tests::SmallProblem;

std::string reason_of(const Problem& problem) {
  const Status taken = find_implementation("sdpa")->supports(problem);
  return taken ? "" : taken.error().message;
}

/// chunks in JSON, with more rules in front of those of documents.
std::string with_rules(const char* rules) {
  return fmt::format(R"({{"name": "mine", "attends": {{{}}}}})", rules);
}

TEST(PackedWindows, OfADocumentAreItsLengthOver40RoundedUp) {
  for (const auto& [tokens, windows] :
       {std::pair{1, 1}, {39, 1}, {40, 1}, {41, 2}, {44, 2}, {80, 2}, {81, 3}, {2000, 50}}) {
    const SmallProblem small("chunks", std::nullopt,
                             SequenceLayout::uniform(3, item(0, 0, tokens)));
    EXPECT_EQ(packed_windows(small.problem)->count(), 3 * windows) << tokens;
  }
}

TEST(PackedWindows, AreExecutedWhole) {
  const SmallProblem small("chunks", std::nullopt, SequenceLayout::uniform(2, item(0, 0, 81)), 10,
                           30);
  const auto prepared = find_implementation("sdpa")->prepare(small.problem).value();
  EXPECT_EQ(prepared->executed().flop, 2.0 * 3 * 10 * 50 * 50 * 4 * 30);
}

TEST(PackedWindows, LeaveClsAndTheQueryToCallsOfTheirOwn) {
  const SmallProblem small("chunks", std::nullopt, SequenceLayout::uniform(2, item(1, 3, 81)));
  const PackedWindows windows = packed_windows(small.problem).value();
  ASSERT_EQ(windows.whole.size(), 2U);
  EXPECT_EQ(windows.items, 2);
  EXPECT_EQ(windows.whole[0].rows, (TokenRange{0, 1}));
  EXPECT_THAT(windows.whole[0].keys, ::testing::ElementsAre(TokenRange{0, 85}));
  EXPECT_EQ(windows.whole[1].rows, (TokenRange{1, 4}));
  EXPECT_THAT(windows.whole[1].keys, ::testing::ElementsAre(TokenRange{1, 4}));
}

TEST(PackedWindows, ASharedQueryIsSeenWhereItStands) {
  const auto layout = SequenceLayout::make({item(1, 0, 50), item(1, 0, 3)}, 7);
  const SmallProblem small("chunks", std::nullopt, *layout);
  const PackedWindows windows = packed_windows(small.problem).value();
  ASSERT_EQ(windows.whole.size(), 3U);
  EXPECT_THAT(windows.whole[0].keys, ::testing::ElementsAre(TokenRange{0, 7}));
  EXPECT_THAT(windows.whole[1].keys, ::testing::ElementsAre(TokenRange{0, 58}));
  EXPECT_THAT(windows.whole[2].keys, ::testing::ElementsAre(TokenRange{0, 7}, TokenRange{58, 62}));
}

TEST(PackedWindows, OtherTablesWithChunksAreRefusedWithAReason) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 3, 81));
  for (const char* rules :
       {R"("document": {"document": {"chunk": 8}, "query": "whole"})",
        R"("query": {"query": {"chunk": 2}}, "document": {"document": {"chunk": 8}})",
        R"("query": {"query": {"window": 2}}, "document": {"document": {"chunk": 8}})",
        R"("query": {"query": {"chunk": 2}}, "document": {"document": "whole"})",
        R"("sentence": {"sentence": "whole"}, "document": {"document": {"chunk": 8}})"}) {
    const SmallProblem small(with_rules(rules), std::nullopt, layout);
    EXPECT_THAT(reason_of(small.problem),
                HasSubstr("their own chunks alone; sdpa-mask takes pattern mine"))
        << rules;
  }
  const SmallProblem taken(with_rules(R"("document": {"document": {"chunk": 8, "overlap": 20}})"),
                           std::nullopt, layout);
  EXPECT_EQ(reason_of(taken.problem), "");
}

}  // namespace
}  // namespace attnscope
