// SPDX-License-Identifier: Apache-2.0
#include "engine/report/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/store/sample_runs.h"

namespace attnscope::report {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
  const auto lengths = parse_document_lengths(text);
  return lengths ? "" : lengths.error().message;
}

TEST(DocumentLengths, ReadOneNumberALine) {
  const auto lengths = parse_document_lengths("300\n\n 100 \r\n# a comment\n300 # as above\n");
  ASSERT_TRUE(lengths.has_value());
  EXPECT_EQ(lengths->counted(), (std::vector<DocumentLengths::Counted>{{100, 1}, {300, 2}}));
  EXPECT_EQ(lengths->count(), 3);
  EXPECT_FALSE(lengths->is_one());
}

TEST(DocumentLengths, AreOneWhenAllAreAlike) {
  EXPECT_TRUE(DocumentLengths(512).is_one());
  EXPECT_TRUE(parse_document_lengths("7\n7\n7")->is_one());
  EXPECT_EQ(parse_document_lengths("7\n7\n7")->count(), 3);
}

TEST(DocumentLengths, HaveMeanAndNearestRankPercentiles) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 100; i >= 1; --i) lengths.push_back(i);
  const DocumentLengths all(std::move(lengths));
  EXPECT_DOUBLE_EQ(all.mean(), 50.5);
  EXPECT_EQ(all.percentile(0), 1);
  EXPECT_EQ(all.percentile(50), 50);
  EXPECT_EQ(all.percentile(95), 95);
  EXPECT_EQ(all.percentile(100), 100);
  EXPECT_EQ(DocumentLengths(512).percentile(50), 512);
}

TEST(DocumentLengths, ErrorsNameTheLine) {
  EXPECT_THAT(refusal("12\nlong\n"), HasSubstr("line 2 is 'long'"));
  EXPECT_THAT(refusal("12.5"), HasSubstr("line 1 is '12.5'"));
  EXPECT_THAT(refusal("1\n0"), HasSubstr("line 2 is '0'"));
  EXPECT_THAT(refusal("-4"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("99999999999999999999999"), HasSubstr("line 1"));
  EXPECT_THAT(refusal(std::string_view("\0\xff", 2)), HasSubstr("line 1"));
  EXPECT_THAT(refusal(""), HasSubstr("it contains no length"));
  EXPECT_THAT(refusal("# nothing\n\n"), HasSubstr("it contains no length"));
}

TEST(DocumentLengths, ErrorsOfFilesNameTheFile) {
  const test::TemporaryFolder folder;
  const auto file = folder / "lengths.txt";
  EXPECT_THAT(read_document_lengths(file).error().message, HasSubstr("lengths.txt"));
  std::ofstream(file) << "12\nlong\n";
  EXPECT_THAT(read_document_lengths(file).error().message, HasSubstr("lengths.txt': line 2"));
  std::ofstream(file) << "12\n13\n";
  EXPECT_EQ(read_document_lengths(file)->count(), 2);
}

}  // namespace
}  // namespace attnscope::report
