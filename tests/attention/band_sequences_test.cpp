// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/attention/windowed/windowed.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::item;
using tests::SmallProblem;

SequenceLayout documents() {
  return SequenceLayout::make({item(0, 0, 9), item(0, 0, 0), item(0, 0, 4)}).value();
}

TEST(BandSequences, DocumentsAloneAreOneBandEach) {
  const SmallProblem small("sparse", Window::of(2), documents());
  const auto band = band_sequences(small.plan);
  ASSERT_TRUE(band) << band.error().message;
  EXPECT_THAT(band->sequences, ElementsAre(TokenRange{0, 9}, TokenRange{9, 13}));
  EXPECT_EQ(band->window, 2);
}

TEST(BandSequences, AnInfiniteWindowIsAsLongAsTheLongestSequence) {
  const SmallProblem small("sparse", Window::infinite(), documents());
  const auto band = band_sequences(small.plan);
  ASSERT_TRUE(band) << band.error().message;
  EXPECT_EQ(band->window, 8);
}

TEST(BandSequences, QueriesAndClsAreNoBands) {
  const SmallProblem small("sparse", Window::of(2), SequenceLayout::uniform(1, item(1, 3, 9)));
  const auto band = band_sequences(small.plan);
  ASSERT_FALSE(band);
  EXPECT_THAT(band.error().message, HasSubstr("use a layout of documents alone"));
}

TEST(BandSequences, RowsWithoutKeysAreNoBands) {
  const SmallProblem small(R"({"name":"deaf","attends":{"document":{"query":"whole"}}})",
                           std::nullopt, documents());
  EXPECT_FALSE(band_sequences(small.plan));
}

}  // namespace
}  // namespace attnscope
