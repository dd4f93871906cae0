// SPDX-License-Identifier: Apache-2.0
//
// Layout files: what they mean, and what a wrong one is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/pattern/sequence_layout.h"

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string layout_error(std::string_view json) {
  const auto layout = parse_layout(json, "layout.json");
  return layout ? "" : layout.error().message;
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
      parse_layout(R"({"shared_query": 7, "items": [{"documents": [3, 0, 2]}]})", "layout.json");
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->shared_query(), 7);
  EXPECT_THAT(layout->item(0).documents, ::testing::ElementsAre(3, 0, 2));
}

TEST(LayoutJson, AnEmptySentenceListIsNotAMissingOne) {
  EXPECT_TRUE(parse_layout(R"({"items": [{"document": 9, "sentences": []}]})", "f")
                  ->item(0)
                  .sentences_given);
  EXPECT_FALSE(parse_layout(R"({"items": [{"document": 9}]})", "f")->item(0).sentences_given);
}

TEST(LayoutJson, PrintedLayoutReadsBackAsItself) {
  for (
      const char* json : {
          R"({"items":[{"cls":1,"query":11,"document":500,"sentences":[0,30]},{"cls":0,"query":0,"documents":[]}]})",
          R"({"shared_query":4,"items":[{"cls":1,"documents":[3,5],"sentences":[]}]})",
      }) {
    EXPECT_EQ(layout_json(*parse_layout(json, "f")), json);
  }
}

TEST(LayoutJson, BrokenJsonNamesLineAndColumn) {
  EXPECT_THAT(layout_error("{\"items\": [\n  {\"cls\": 1,}\n]}"),
              StartsWith("layout.json, line 2, column 13: not valid JSON"));
}

TEST(LayoutJson, SizesThatAreNoSizesNameLineFieldAndRange) {
  for (const char* size : {"-1", "1.5", "2.0", "\"11\"", "null", "true", "{}", "1e3", "100000001",
                           "9223372036854775808", "99999999999999999999999"}) {
    EXPECT_THAT(layout_error(fmt::format("{{\"items\": [\n{{}},\n{{\"query\": {}}}]}}", size)),
                StartsWith("layout.json, line 3: 'items[1].query' must be a whole number from 0 to "
                           "100000000, not "))
        << size;
  }
}

TEST(LayoutJson, UnknownFieldsNameTheNearest) {
  EXPECT_THAT(layout_error("{\"items\": [{\n\"querry\": 3}]}"),
              AllOf(StartsWith("layout.json, line 2: 'items[0].querry' is an unknown field"),
                    HasSubstr("did you mean 'query'?")));
  EXPECT_THAT(layout_error("{\"itms\": []}"), HasSubstr("did you mean 'items'?"));
}

TEST(LayoutJson, DocumentAndDocumentsTogetherAreAnError) {
  EXPECT_THAT(
      layout_error("{\"items\": [{\"document\": 3,\n\"documents\": [3]}]}"),
      StartsWith("layout.json, line 2: 'items[0].documents' cannot be combined with 'document'"));
  EXPECT_THAT(layout_error(R"({"items": [{"document": [3, 4]}]})"), HasSubstr("'documents'"));
  EXPECT_THAT(layout_error(R"({"items": [{"documents": 3}]})"), HasSubstr("must be a list"));
}

TEST(LayoutJson, SentencesThatDescendOrLieOutsideNameTheirLine) {
  EXPECT_THAT(layout_error("{\"items\": [{\"document\": 50, \"sentences\": [0,\n30,\n30]}]}"),
              StartsWith("layout.json, line 3: 'items[0].sentences[2]' is 30 after 30"));
  EXPECT_THAT(
      layout_error("{\"items\": [{\"document\": 50, \"sentences\": [0,\n50]}]}"),
      StartsWith("layout.json, line 2: 'items[0].sentences[1]' is 50, outside the item's 50"));
  EXPECT_THAT(layout_error(R"({"items": [{"document": 5, "sentences": [-1]}]})"),
              HasSubstr("'items[0].sentences[0]' must be a whole number"));
  EXPECT_THAT(layout_error(R"({"items": [{"document": 5, "sentences": 3}]})"),
              HasSubstr("'items[0].sentences' must be a list"));
}

TEST(LayoutJson, MissingOrEmptyItemsAreAnError) {
  EXPECT_THAT(layout_error("{}"), HasSubstr("has no 'items'"));
  EXPECT_THAT(layout_error("\n{\"items\": []}"),
              StartsWith("layout.json, line 2: 'items' is empty"));
  EXPECT_THAT(layout_error("{\"items\": {}}"), HasSubstr("'items' must be a list"));
  EXPECT_THAT(layout_error("{\"items\": [3]}"), HasSubstr("'items[0]' must be an object"));
  EXPECT_THAT(layout_error("[]"), HasSubstr("the file must be an object"));
}

TEST(LayoutJson, QueryBesideASharedQueryIsAnError) {
  EXPECT_THAT(
      layout_error("{\"shared_query\": 4, \"items\": [\n{\"query\": 3}]}"),
      StartsWith("layout.json, line 2: 'items[0].query' cannot be combined with 'shared_query'"));
  EXPECT_EQ(layout_error(R"({"shared_query": 4, "items": [{"query": 0}]})"), "");
}

TEST(LayoutJson, SumsBeyondTheLimitAreAnErrorInsteadOfAnOverflow) {
  EXPECT_THAT(layout_error(R"({"items": [{"documents": [90000000, 90000000], "sentences": [0]}]})"),
              AllOf(StartsWith("layout.json, line 1: 'items' is too large"), HasSubstr("item 0")));
}

}  // namespace
}  // namespace attnscope
