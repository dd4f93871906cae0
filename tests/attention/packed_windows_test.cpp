// SPDX-License-Identifier: Apache-2.0
//
// TKL's chunks as packed windows: the windows, the executed work, and the patterns that are
// declined.
#include "engine/attention/sdpa/packed_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using tests::item;
using tests::refusal;
using tests::SmallProblem;

TEST(PackedWindows, AreOnePer40TokensOfADocument) {
  for (const auto& [tokens, windows] :
       {std::pair{1, 1}, {39, 1}, {40, 1}, {41, 2}, {44, 2}, {80, 2}, {81, 3}, {2000, 50}}) {
    const SmallProblem small("chunks", std::nullopt,
                             SequenceLayout::uniform(3, item(0, 0, tokens)));
    EXPECT_EQ(packed_windows(small.problem)->count(), 3 * windows) << tokens;
  }
}

TEST(PackedWindows, AreExecutedWithTheirPadding) {
  const SmallProblem small("chunks", std::nullopt, SequenceLayout::uniform(2, item(0, 0, 81)), 10,
                           30);
  EXPECT_EQ(tests::prepare("sdpa", small.problem)->executed().flop,
            2.0 * 3 * 10 * 50 * 50 * 4 * 30);
}

TEST(PackedWindows, ComputeClsAndTheQuerySeparately) {
  const SmallProblem small("chunks", std::nullopt, SequenceLayout::uniform(2, item(1, 3, 81)));
  const PackedWindows windows = packed_windows(small.problem).value();
  ASSERT_EQ(windows.whole.size(), 2U);
  EXPECT_EQ(windows.items, 2);
  EXPECT_EQ(windows.whole[0].rows, (TokenRange{0, 1}));
  EXPECT_THAT(windows.whole[0].keys, ::testing::ElementsAre(TokenRange{0, 85}));
  EXPECT_EQ(windows.whole[1].rows, (TokenRange{1, 4}));
  EXPECT_THAT(windows.whole[1].keys, ::testing::ElementsAre(TokenRange{1, 4}));
}

TEST(PackedWindows, IncludeASharedQueryAtItsPosition) {
  const auto layout = SequenceLayout::make({item(1, 0, 50), item(1, 0, 3)}, 7);
  const SmallProblem small("chunks", std::nullopt, *layout);
  const PackedWindows windows = packed_windows(small.problem).value();
  ASSERT_EQ(windows.whole.size(), 3U);
  EXPECT_THAT(windows.whole[0].keys, ::testing::ElementsAre(TokenRange{0, 7}));
  EXPECT_THAT(windows.whole[1].keys, ::testing::ElementsAre(TokenRange{0, 58}));
  EXPECT_THAT(windows.whole[2].keys, ::testing::ElementsAre(TokenRange{0, 7}, TokenRange{58, 62}));
}

TEST(PackedWindows, DeclineOtherPatternsWithChunks) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 3, 81));
  const auto reason = [&](const char* rules) {
    return refusal("sdpa", SmallProblem(fmt::format(R"({{"name":"mine","attends":{{{}}}}})", rules),
                                        std::nullopt, layout)
                               .problem);
  };
  for (const char* rules :
       {R"("document": {"document": {"chunk": 8}, "query": "whole"})",
        R"("query": {"query": {"chunk": 2}}, "document": {"document": {"chunk": 8}})",
        R"("query": {"query": {"window": 2}}, "document": {"document": {"chunk": 8}})",
        R"("query": {"query": {"chunk": 2}}, "document": {"document": "whole"})",
        R"("sentence": {"sentence": "whole"}, "document": {"document": {"chunk": 8}})"}) {
    EXPECT_THAT(reason(rules),
                HasSubstr("only to their own chunks; sdpa-mask supports pattern mine"))
        << rules;
  }
  EXPECT_EQ(reason(R"("document": {"document": {"chunk": 8, "overlap": 20}})"), "");
}

}  // namespace
}  // namespace attnscope
