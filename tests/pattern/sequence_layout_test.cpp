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

std::string item_error(std::vector<LayoutItem> items, std::int64_t shared_query = 0) {
  const auto layout = SequenceLayout::make(std::move(items), shared_query);
  return layout ? "" : layout.error().message;
}

TEST(SequenceLayout, PacksGroupsOfItemsOneAfterTheOther) {
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

TEST(SequenceLayout, SharedQueryStandsOnceBeforeAllItems) {
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

TEST(SequenceLayout, IsUniformWhenAllItemsHaveTheSameSizesAndNothingIsShared) {
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

TEST(SequenceLayout, ImpossibleSizesAreErrorsThatNameItemAndField) {
  EXPECT_THAT(item_error({{}, {.cls = -1}}), AllOf(StartsWith("item 1: cls"), HasSubstr("not -1")));
  EXPECT_THAT(item_error({{.query = -5}}), StartsWith("item 0: query"));
  EXPECT_THAT(item_error({{.documents = {3, -2}}}), StartsWith("item 0: document"));
  EXPECT_THAT(item_error({{.documents = {huge}}}), StartsWith("item 0: document"));
  EXPECT_THAT(item_error({{}}, -1), StartsWith("shared_query must be"));
  EXPECT_THAT(item_error({}), HasSubstr("at least one item"));
}

TEST(SequenceLayout, TooManyTokensAreAnErrorInsteadOfAnOverflow) {
  EXPECT_THAT(item_error({{.documents = {too_many}}}), StartsWith("item 0: document"));
  EXPECT_THAT(item_error({{}, {.documents = {too_many - 1, too_many - 1}}}),
              AllOf(StartsWith("item 1: "), HasSubstr("split it")));
  EXPECT_THAT(item_error(std::vector<LayoutItem>(11, {.documents = {too_many / 10}})),
              StartsWith("item 9: "));
}

TEST(SequenceLayout, SentenceStartsMustAscendInsideTheDocuments) {
  EXPECT_EQ(item_error({{.documents = {4, 3}, .sentences = {0, 4, 6}}}), "");
  EXPECT_THAT(item_error({{.documents = {4, 3}, .sentences = {0, 7}}}),
              HasSubstr("sentence start 7 is outside its 7 document tokens"));
  EXPECT_THAT(item_error({{.documents = {4}, .sentences = {-1}}}), HasSubstr("sentence start -1"));
  EXPECT_THAT(item_error({{.documents = {4}, .sentences = {2, 2}}}), HasSubstr("2 follows 2"));
  EXPECT_THAT(item_error({{.documents = {4}, .sentences = {2, 1}}}), HasSubstr("ascending"));
}

TEST(SequenceLayout, QueryBesideASharedQueryIsAnError) {
  EXPECT_THAT(item_error({{.query = 2}}, 3), HasSubstr("in addition to the shared query"));
}

}  // namespace
}  // namespace attnscope
