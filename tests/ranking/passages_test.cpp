// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/passages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace attnscope {
namespace {

using ::testing::ElementsAre;

TEST(Passages, TheFirstIsAsMuchAsThereIsRoomFor) {
  EXPECT_THAT(passages_of(3000, {.room = 500}, LongDocuments::first_p),
              ElementsAre(Passage{0, 500}));
  EXPECT_THAT(passages_of(20, {.room = 500}, LongDocuments::first_p), ElementsAre(Passage{0, 20}));
  EXPECT_THAT(passages_of(3000, {.room = 500}, LongDocuments::whole),
              ElementsAre(Passage{0, 3000}));
}

TEST(Passages, OverlapByHalfAndEndWithTheDocument) {
  const auto max_p = [](std::int64_t tokens, std::int64_t room) {
    return passages_of(tokens, {.room = room}, LongDocuments::max_p);
  };
  EXPECT_THAT(max_p(10, 10), ElementsAre(Passage{0, 10}));
  EXPECT_THAT(max_p(11, 10), ElementsAre(Passage{0, 10}, Passage{1, 11}));
  EXPECT_THAT(max_p(20, 10), ElementsAre(Passage{0, 10}, Passage{5, 15}, Passage{10, 20}));
  EXPECT_THAT(max_p(22, 10),
              ElementsAre(Passage{0, 10}, Passage{5, 15}, Passage{10, 20}, Passage{12, 22}));
  EXPECT_THAT(max_p(0, 10), ElementsAre(Passage{0, 0}));
  EXPECT_THAT(max_p(3, 1), ElementsAre(Passage{0, 1}, Passage{1, 2}, Passage{2, 3}));
}

TEST(Passages, HoldEveryToken_AtAnyLength) {
  for (std::int64_t room = 1; room < 12; ++room) {
    for (std::int64_t tokens = 0; tokens < 60; ++tokens) {
      std::int64_t seen = 0;
      for (const Passage& passage : passages_of(tokens, {.room = room}, LongDocuments::max_p)) {
        EXPECT_LE(passage.begin, seen);
        EXPECT_LE(passage.end - passage.begin, room);
        EXPECT_GE(passage.end, seen);
        seen = passage.end;
      }
      EXPECT_EQ(seen, tokens);
    }
  }
}

TEST(Passages, AsPublished_TheEndOfTheLongestCandidateIsInNone) {
  // 64 positions, a query of 13 with its [SEP]: 50 for a document with its [SEP], so 49 tokens.
  const auto published = [](std::int64_t tokens, std::int64_t longest) {
    return passages_of(tokens, {.room = 49, .positions = 64, .longest = longest},
                       LongDocuments::max_p_as_published);
  };
  // range(0, 121 - 50, 25): 0, 25, 50; tokens from 99 on are dropped.
  EXPECT_THAT(published(120, 120), ElementsAre(Passage{0, 49}, Passage{25, 74}, Passage{50, 99}));
  // A shorter one beside it has those that begin within it, the last ones shorter.
  EXPECT_THAT(published(40, 120), ElementsAre(Passage{0, 40}, Passage{25, 40}));
  EXPECT_THAT(published(50, 120), ElementsAre(Passage{0, 49}, Passage{25, 50}, Passage{50, 50}));
  // Where all candidates fit the positions by themselves, none is cut in passages.
  EXPECT_THAT(published(63, 63), ElementsAre(Passage{0, 49}));
  EXPECT_THAT(published(64, 64), ElementsAre(Passage{0, 49}));
  EXPECT_THAT(published(80, 80), ElementsAre(Passage{0, 49}, Passage{25, 74}));
}

}  // namespace
}  // namespace attnscope
