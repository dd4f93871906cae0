// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "engine/pattern/attention_pattern.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

/// The mask as rows of '#' (allowed) and '.'.
std::vector<std::string> picture(const AttentionPattern& pattern, std::optional<Window> window,
                                 const SequenceLayout& layout) {
  const Oracle oracle(pattern, window, layout);
  std::vector<std::string> rows;
  for (std::int64_t i = 0; i < layout.tokens(); ++i) {
    std::string& row = rows.emplace_back();
    for (std::int64_t j = 0; j < layout.tokens(); ++j) row += oracle.allowed(0, i, j) ? '#' : '.';
  }
  return rows;
}

AttentionPattern small_chunks() {
  AttentionPattern pattern = *find_pattern("chunks");
  pattern.attends[2][2].chunk = {.tokens = 3, .overlap = 1};
  return pattern;
}

AttentionPattern blocks_of_two() {
  AttentionPattern pattern = *find_pattern("bigbird");
  pattern.blocks = BlockRule{.length = 2, .random = 0, .seed = 1};
  return pattern;
}

TEST(Oracle, AllowsThePairsOfThePicture) {
  struct Row {
    const char* name;
    AttentionPattern pattern;
    std::optional<Window> window;
    std::vector<LayoutItem> items;
    std::vector<std::string> picture;
    std::int64_t shared_query = 0;
  };
  for (const Row& row : std::vector<Row>{
           {"sparse with window 1 is Figure 1d of the paper",
            *find_pattern("sparse"),
            Window::of(1),
            {{.query = 2, .documents = {5}}},
            {"########",  // [CLS] attends to all tokens (Eq. 1)
             ".##.....",  // the query sees the query (Eq. 2)
             ".##.....",
             "#####...",  // a document token sees [CLS], the query and its neighbours (Eq. 3)
             "######..", "###.###.", "###..###", "###...##"}},
           {"window 0 is the token itself",
            *find_pattern("longformer"),
            Window::of(0),
            {{.query = 1, .documents = {3}}},
            {"#####", "#####", "###..", "##.#.", "##..#"}},
           {"sentence starts are global as query and as key",
            *find_pattern("qds"),
            Window::of(1),
            {{.query = 0, .documents = {6}, .sentences = {0, 3}, .sentences_given = true}},
            {"#######",
             "#######",  // a sentence start
             "#####..",
             "#####..",  // document 2: both sentence starts and, by its window, 1 to 3
             "#######",  // a sentence start
             "##..###", "##..###"}},
           {"documents of a list-wise item do not attend to each other",
            *find_pattern("full"),
            std::nullopt,
            {{.query = 0, .documents = {2, 2}}},
            {"#####", "###..", "###..", "#..##", "#..##"}},
           {"a shared query is attended by all items and itself",
            *find_pattern("sparse"),
            Window::of(0),
            {{.documents = {1}}, {.documents = {1}}},
            {"#....", "###..", "###..", "#..##", "#..##"},
            1},
           {"chunks attend to themselves and their overlap",
            small_chunks(),
            std::nullopt,
            {{.query = 1, .documents = {7}}},
            {"#########",                            // [CLS] attends to all tokens
             ".#.......",                            // the query sees itself
             "..####...", "..####...", "..####...",  // the first chunk and a token to its right
             "....#####", "....#####", "....#####",  // the second, and one more on either side
             ".......##"}},                          // the last, which has a single token
           {"chunks restart in each document",
            small_chunks(),
            std::nullopt,
            {{.cls = 0, .documents = {4, 4}}},
            {"####....", "####....", "####....", "..##....", "....####", "....####", "....####",
             "......##"}},
           {"blocks without random ones attend to neighbours and outer blocks",
            blocks_of_two(),
            std::nullopt,
            {{.query = 2, .documents = {8}}},
            {"###########", "###########",  // the first block
             "######....#", "######....#",  // 0, 1, 2 and the last
             "########..#", "########..#",  //
             "##..#######", "##..#######",  //
             "##....#####", "##....#####",  //
             "###########"}}}) {            // the last, one token
    const auto layout = SequenceLayout::make(row.items, row.shared_query);
    EXPECT_EQ(picture(row.pattern, row.window, *layout), row.picture) << row.name;
  }
}

TEST(Oracle, SentenceOffsetsCountOverAllDocumentsAndStridesRestartInEachDocument) {
  const AttentionPattern qds = *find_pattern("qds");
  const auto given =
      SequenceLayout::make({{.cls = 0, .query = 0, .documents = {40, 40}, .sentences = {41}}});
  const Oracle by_offset(qds, Window::of(4), *given);
  const auto filled = SequenceLayout::make({{.cls = 0, .query = 0, .documents = {40, 40}}});
  const Oracle by_stride(qds, Window::of(4), *filled);
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> strides;
  for (std::int64_t token = 0; token < 80; ++token) {
    if (by_offset.place_of(token).group == TokenGroup::sentence) offsets.push_back(token);
    if (by_stride.place_of(token).group == TokenGroup::sentence) strides.push_back(token);
  }
  EXPECT_THAT(offsets, ::testing::ElementsAre(41));
  EXPECT_THAT(strides, ::testing::ElementsAre(0, 30, 40, 70));
}

TEST(Oracle, SentenceStartsAreDocumentTokensForPatternsWithoutThem) {
  const auto layout = SequenceLayout::make({{.cls = 0, .documents = {9}, .sentences = {0, 4}}});
  const AttentionPattern sparse = *find_pattern("sparse");
  EXPECT_EQ(Oracle(sparse, Window::of(1), *layout).place_of(4).group, TokenGroup::document);
}

TEST(Oracle, PlacesTokensBetweenEmptyItems) {
  const LayoutItem empty{.cls = 0, .query = 0, .documents = {0, 0}};
  const auto layout = SequenceLayout::make(
      {empty, {.cls = 0, .query = 1, .documents = {0, 2}}, empty, {.cls = 1}, empty});
  const AttentionPattern full = *find_pattern("full");
  const Oracle oracle(full, std::nullopt, *layout);
  EXPECT_EQ(oracle.place_of(0).item, 1);
  EXPECT_EQ(oracle.place_of(0).group, TokenGroup::query);
  EXPECT_EQ(oracle.place_of(2).document, 1);
  EXPECT_EQ(oracle.place_of(2).position, 1);
  EXPECT_EQ(oracle.place_of(3).item, 3);
}

TEST(Oracle, ExplainsAllowedAndDisallowedPairs) {
  const SequenceLayout layout = SequenceLayout::uniform(2, {.query = 2, .documents = {30}});
  const AttentionPattern sparse = *find_pattern("sparse");
  const Oracle oracle(sparse, Window::of(4), layout);
  const std::int64_t document = 3;
  EXPECT_EQ(oracle.explain(document + 17, document + 20),
            "document 17 attends to document 20: window, |17-20| <= 4");
  EXPECT_EQ(oracle.explain(document + 17, document + 22),
            "document 17 does not attend to document 22: window, |17-22| > 4");
  EXPECT_EQ(oracle.explain(0, document),
            "cls 0 attends to document 0: cls tokens attend to all document tokens");
  EXPECT_EQ(oracle.explain(1, document),
            "query 0 does not attend to document 0: query tokens do not attend to document tokens");
  EXPECT_EQ(oracle.explain(0, 33), "cls 0 does not attend to cls 0: they belong to items 0 and 1");
  EXPECT_EQ(Oracle(sparse, Window::infinite(), layout).explain(document, document + 29),
            "document 0 attends to document 29: the window is infinite");
}

/// Tokens of a chunk of one each, with w more to either side, are a window of w.
TEST(Oracle, ChunksOfOneTokenAreAWindow) {
  AttentionPattern chunks = *find_pattern("sparse");
  chunks.attends[2][2] = {.kind = GroupRule::Kind::chunks, .chunk = {.tokens = 1, .overlap = 4}};
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 2, .documents = {30}});
  EXPECT_EQ(picture(chunks, std::nullopt, layout),
            picture(*find_pattern("sparse"), Window::of(4), layout));
}

TEST(Oracle, ExplainsChunks) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {.query = 2, .documents = {100}});
  const AttentionPattern chunks = *find_pattern("chunks");
  const Oracle oracle(chunks, std::nullopt, layout);
  const std::int64_t document = 3;
  EXPECT_EQ(oracle.explain(document + 50, document + 84),
            "document 50 attends to document 84: its chunk, 40 to 79, attends to itself and 5 "
            "tokens more to each side");
  EXPECT_EQ(oracle.explain(document + 50, document + 85),
            "document 50 does not attend to document 85: its chunk, 40 to 79, attends to itself "
            "and 5 tokens more to each side");
}

TEST(Oracle, ExplainsBlocks) {
  const AttentionPattern bigbird = *find_pattern("bigbird");
  const SequenceLayout layout =
      SequenceLayout::make({{.query = 3, .documents = {996}}, {.query = 3, .documents = {100}}})
          .value();
  const Oracle oracle(bigbird, std::nullopt, layout);
  const auto text = [&](std::int64_t query, std::int64_t key) {
    return oracle.explain(query, key, 1);
  };
  EXPECT_EQ(text(0, 500),
            "cls 0 attends to document 496: block 0, an outer one, attends to all tokens");
  EXPECT_EQ(text(500, 1),
            "document 496 attends to query 0: block 0, an outer one, is attended to by all tokens");
  EXPECT_EQ(text(500, 575),
            "document 496 attends to document 571: block 7 attends to itself and its neighbours, "
            "including 8");
  EXPECT_EQ(text(0, 1000), "cls 0 does not attend to cls 0: they belong to items 0 and 1");
  EXPECT_EQ(text(1000, 1001),
            "cls 0 attends to query 0: an item of at most 704 tokens is full attention");
  const std::vector<std::int64_t> drawn =
      random_blocks(3, {.seed = 1, .blocks = 16, .head = 1, .block = 7});
  for (std::int64_t block = 1; block < 15; ++block) {
    if (std::abs(block - 7) <= 1) continue;
    const bool random = std::ranges::find(drawn, block) != drawn.end();
    EXPECT_EQ(oracle.allowed(1, 500, 64 * block), random);
    EXPECT_THAT(
        text(500, 64 * block),
        HasSubstr(random ? "is a random block of block 7 in head 1"
                         : "is neither a neighbour nor a random block of block 7 in head 1"));
  }
}

TEST(Oracle, NamesTheDocumentIfAnItemHasSeveral) {
  const auto layout = SequenceLayout::make({{.cls = 0, .documents = {2, 2}}});
  const AttentionPattern sparse = *find_pattern("sparse");
  EXPECT_EQ(Oracle(sparse, Window::of(4), *layout).explain(0, 3),
            "document 0 of document #0 does not attend to document 1 of document #1: documents of "
            "one item do not attend to each other");
}

TEST(Oracle, RefusesAPatternWithoutItsWindow) {
  const SequenceLayout layout = SequenceLayout::uniform(1, {});
  const AttentionPattern sparse = *find_pattern("sparse");
  EXPECT_THROW(Oracle(sparse, std::nullopt, layout), std::invalid_argument);
}

}  // namespace
}  // namespace attnscope
