// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/sequence_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t too_many = SequenceLayout::max_tokens + 1;
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

TEST(SequenceLayout, PacksGroupsOfItemsConsecutively) {
  const auto layout = SequenceLayout::make(
      {{.cls = 1, .query = 3, .documents = {4}}, {.cls = 2, .query = 0, .documents = {5, 0, 6}}});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->tokens(), 21);
  EXPECT_EQ(layout->item_count(), 2);
  EXPECT_EQ(layout->item_tokens(0), (TokenRange{0, 8}));
  EXPECT_EQ(layout->cls(0), (TokenRange{0, 1}));
  EXPECT_EQ(layout->query(0), (TokenRange{1, 4}));
  EXPECT_EQ(layout->documents(0), (TokenRange{4, 8}));
  EXPECT_EQ(layout->item_tokens(1), (TokenRange{8, 21}));
  EXPECT_EQ(layout->cls(1), (TokenRange{8, 10}));
  EXPECT_TRUE(layout->query(1).empty());
  EXPECT_EQ(layout->documents(1), (TokenRange{10, 21}));
  EXPECT_EQ(layout->document_count(1), 3);
  EXPECT_EQ(layout->document(1, 0), (TokenRange{10, 15}));
  EXPECT_EQ(layout->document(1, 1), (TokenRange{15, 15}));
  EXPECT_EQ(layout->document(1, 2), (TokenRange{15, 21}));
}

TEST(SequenceLayout, SharedQueryPrecedesAllItems) {
  const auto layout = SequenceLayout::make({{.documents = {4}}, {.documents = {2}}}, 3);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->shares_query());
  EXPECT_EQ(layout->tokens(), 3 + 5 + 3);
  EXPECT_EQ(layout->query(0), (TokenRange{0, 3}));
  EXPECT_EQ(layout->query(1), (TokenRange{0, 3}));
  EXPECT_EQ(layout->item_tokens(0), (TokenRange{3, 8}));
  EXPECT_EQ(layout->cls(1), (TokenRange{8, 9}));
  EXPECT_EQ(layout->document(1, 0), (TokenRange{9, 11}));
}

TEST(SequenceLayout, IsUniformIfAllItemsHaveTheSameSizesWithoutASharedQuery) {
  const LayoutItem item{.query = 3, .documents = {4}};
  EXPECT_TRUE(SequenceLayout::uniform(3, item).is_uniform());
  EXPECT_FALSE(SequenceLayout::make({item, {.query = 3, .documents = {5}}})->is_uniform());
  EXPECT_FALSE(SequenceLayout::make({item, {.query = 3, .documents = {2, 2}}})->is_uniform());
  EXPECT_FALSE(SequenceLayout::uniform(3, {.documents = {4}}, 2).is_uniform());
}

TEST(SequenceLayout, EmptyGroupsAreAllowed) {
  EXPECT_TRUE(SequenceLayout::make({{.cls = 0, .query = 0, .documents = {}}}));
  EXPECT_TRUE(SequenceLayout::make({{.cls = 1, .query = 0, .documents = {0}}}));
}

TEST(SequenceLayout, ImpossibleItemsAreErrors) {
  struct Row {
    std::vector<LayoutItem> items;
    std::int64_t shared_query;
    const char *start, *part;
  };
  for (const Row& row : std::vector<Row>{
           {{{}, {.cls = -1}}, 0, "item 1: cls", "not -1"},
           {{{.query = -5}}, 0, "item 0: query", ""},
           {{{.documents = {3, -2}}}, 0, "item 0: document", ""},
           {{{.documents = {huge}}}, 0, "item 0: document", ""},
           {{{}}, -1, "shared_query must be", ""},
           {{}, 0, "", "at least one item"},
           {{{.query = 2}}, 3, "item 0: ", "in addition to the shared query"},
           {{{.documents = {too_many}}}, 0, "item 0: document", ""},
           {{{}, {.documents = {too_many - 1, too_many - 1}}}, 0, "item 1: ", "split it"},
           {std::vector<LayoutItem>(11, {.documents = {too_many / 10}}), 0, "item 9: ", ""},
           {{{.documents = {4, 3}, .sentences = {0, 7}}},
            0,
            "",
            "sentence start 7 is outside its 7 document tokens"},
           {{{.documents = {4}, .sentences = {-1}}}, 0, "", "sentence start -1"},
           {{{.documents = {4}, .sentences = {2, 2}}}, 0, "", "2 follows 2"},
           {{{.documents = {4}, .sentences = {2, 1}}}, 0, "", "ascending"}}) {
    const auto layout = SequenceLayout::make(row.items, row.shared_query);
    ASSERT_FALSE(layout) << row.start << row.part;
    EXPECT_THAT(layout.error().message, AllOf(StartsWith(row.start), HasSubstr(row.part)));
  }
  EXPECT_TRUE(SequenceLayout::make({{.documents = {4, 3}, .sentences = {0, 4, 6}}}));
}

TEST(LayoutJson, ReadsItemsWithOneDocument) {
  const auto layout = parse_layout(
      R"({"items": [{"cls": 1, "query": 11, "document": 500, "sentences": [0, 30]},
                    {"query": 2, "document": 0}]})",
      "layout.json");
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->item(0), (LayoutItem{.cls = 1,
                                         .query = 11,
                                         .documents = {500},
                                         .sentences = {0, 30},
                                         .sentences_given = true}));
  EXPECT_EQ(layout->item(1), (LayoutItem{.cls = 1, .query = 2, .documents = {0}}));
}

TEST(LayoutJson, ReadsListWiseItemsWithASharedQuery) {
  const auto layout =
      parse_layout(R"({"shared_query": 7, "items": [{"documents": [3, 0, 2], "query": 0}]})", "f");
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->shared_query(), 7);
  EXPECT_THAT(layout->item(0).documents, ::testing::ElementsAre(3, 0, 2));
}

TEST(LayoutJson, DistinguishesAnEmptySentenceListFromAMissingOne) {
  EXPECT_TRUE(parse_layout(R"({"items": [{"document": 9, "sentences": []}]})", "f")
                  ->item(0)
                  .sentences_given);
  EXPECT_FALSE(parse_layout(R"({"items": [{"document": 9}]})", "f")->item(0).sentences_given);
}

TEST(LayoutJson, WrittenLayoutParsesToItself) {
  for (
      const char* json : {
          R"({"items":[{"cls":1,"query":11,"document":500,"sentences":[0,30]},{"cls":0,"query":0,"documents":[]}]})",
          R"({"shared_query":4,"items":[{"cls":1,"documents":[3,5],"sentences":[]}]})",
      }) {
    EXPECT_EQ(layout_json(*parse_layout(json, "f")), json);
  }
}

std::string layout_error(std::string_view json) {
  const auto layout = parse_layout(json, "f");
  return layout ? "" : layout.error().message;
}

TEST(LayoutJson, SizesMustBeWholeNumbersInTheirRange) {
  for (const char* size : {"-1", "1.5", "2.0", "\"11\"", "null", "true", "{}", "1e3", "100000001",
                           "9223372036854775808", "99999999999999999999999"}) {
    EXPECT_THAT(layout_error(fmt::format("{{\"items\": [\n{{}},\n{{\"query\": {}}}]}}", size)),
                StartsWith("f, line 3: 'items[1].query' must be a whole number from 0 to "
                           "100000000, not "))
        << size;
  }
}

TEST(LayoutJson, ErrorsNameLineFieldAndCorrection) {
  struct Row {
    const char *json, *start, *part;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"{\"items\": [\n  {\"cls\": 1,}\n]}", "f, line 2, column 13: not valid JSON", ""},
           {"{\"items\": [{\n\"querry\": 3}]}", "f, line 2: 'items[0].querry' is an unknown field",
            "did you mean 'query'?"},
           {"{\"itms\": []}", "f, line 1", "did you mean 'items'?"},
           {"{\"items\": [{\"document\": 3,\n\"documents\": [3]}]}",
            "f, line 2: 'items[0].documents' cannot be combined with 'document'", ""},
           {R"({"items": [{"document": [3, 4]}]})", "f, line 1", "'documents'"},
           {R"({"items": [{"documents": 3}]})", "f, line 1", "must be a list"},
           {"{\"items\": [{\"document\": 50, \"sentences\": [0,\n30,\n30]}]}",
            "f, line 3: 'items[0].sentences[2]' is 30 after 30", ""},
           {"{\"items\": [{\"document\": 50, \"sentences\": [0,\n50]}]}",
            "f, line 2: 'items[0].sentences[1]' is 50, outside the item's 50", ""},
           {R"({"items": [{"document": 5, "sentences": [-1]}]})", "f, line 1",
            "'items[0].sentences[0]' must be a whole number"},
           {R"({"items": [{"document": 5, "sentences": 3}]})", "f, line 1",
            "'items[0].sentences' must be a list"},
           {"{}", "f, line 1", "has no 'items'"},
           {"\n{\"items\": []}", "f, line 2: 'items' is empty", ""},
           {"{\"items\": {}}", "f, line 1", "'items' must be a list"},
           {"{\"items\": [3]}", "f, line 1", "'items[0]' must be an object"},
           {"[]", "f, line 1", "the file must be an object"},
           {"{\"shared_query\": 4, \"items\": [\n{\"query\": 3}]}",
            "f, line 2: 'items[0].query' cannot be combined with 'shared_query'", ""},
           {R"({"items": [{"documents": [90000000, 90000000], "sentences": [0]}]})",
            "f, line 1: 'items' is too large", "item 0"}}) {
    EXPECT_THAT(layout_error(row.json), AllOf(StartsWith(row.start), HasSubstr(row.part)))
        << row.json;
  }
}

}  // namespace
}  // namespace attnscope
