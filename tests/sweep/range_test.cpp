// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string range_error(std::string_view text) {
  const auto values = parse_range(text);
  return values ? "no error" : values.error().message;
}

TEST(Range, OneNumber_IsItself) {
  EXPECT_THAT(*parse_range("64"), ElementsAre(64));
}

TEST(Range, Geometric_HoldsItsEndWhenItIsHit) {
  EXPECT_THAT(*parse_range("64:512:*2"), ElementsAre(64, 128, 256, 512));
}

TEST(Range, Geometric_StopsBeforeAnEndThatIsNotHit) {
  EXPECT_THAT(*parse_range("64:500:*2"), ElementsAre(64, 128, 256));
}

TEST(Range, Geometric_RoundsBrokenFactorsAndNeverRepeats) {
  EXPECT_THAT(*parse_range("1:4:*1.2"), ElementsAre(1, 2, 3, 4));
}

TEST(Range, Arithmetic_GoesInSteps) {
  EXPECT_THAT(*parse_range("0:64:+16"), ElementsAre(0, 16, 32, 48, 64));
  EXPECT_THAT(*parse_range("64:200:+64"), ElementsAre(64, 128, 192));
}

TEST(Range, BeginAtItsEnd_IsOneNumber) {
  EXPECT_THAT(*parse_range("8:8:*2"), ElementsAre(8));
}

TEST(Range, LargestNumbers_DoNotOverflow) {
  EXPECT_THAT(*parse_range("9223372036854775800:9223372036854775807:+5"),
              ElementsAre(9223372036854775800, 9223372036854775805));
}

TEST(Range, Backwards_IsEmptyAndNamesTheMend) {
  EXPECT_THAT(range_error("4096:64:*2"), HasSubstr("is empty"));
  EXPECT_THAT(range_error("4096:64:*2"), HasSubstr("did you mean '64:4096:*2'?"));
}

TEST(Range, FactorOfOneOrLess_NeverEnds) {
  EXPECT_THAT(range_error("64:4096:*1"), HasSubstr("factor must be larger than 1"));
  EXPECT_THAT(range_error("64:4096:*0.5"), HasSubstr("factor must be larger than 1"));
  EXPECT_THAT(range_error("64:4096:*nan"), HasSubstr("factor must be larger than 1"));
}

TEST(Range, StepOfZeroOrLess_NeverEnds) {
  EXPECT_THAT(range_error("64:4096:+0"), HasSubstr("step must be 1 or more"));
  EXPECT_THAT(range_error("64:4096:+-8"), HasSubstr("step must be 1 or more"));
}

TEST(Range, GeometricFromZero_NeverLeavesIt) {
  EXPECT_THAT(range_error("0:64:*2"), HasSubstr("never leaves 0"));
}

TEST(Range, TooManyValues_AreRefused) {
  EXPECT_THAT(range_error("0:1000000000:+1"), HasSubstr("more than 100000 values"));
}

TEST(Range, FactorTooNearToOne_IsRefusedBeforeItIsWalked) {
  EXPECT_THAT(range_error("1:2:*1.0000000000000002"), HasSubstr("more than 100000 steps"));
  EXPECT_THAT(range_error("1:9223372036854775807:*1.0000001"), HasSubstr("more than 100000 steps"));
}

TEST(Range, LargestNumber_IsReachedByAFactor) {
  EXPECT_THAT(*parse_range("9223372036854775807:9223372036854775807:*2"),
              ElementsAre(9223372036854775807));
}

TEST(Range, WhateverIsGiven_IsQuotedInOneLine) {
  EXPECT_THAT(range_error("4\n\x1b[2J\xff"), HasSubstr("'4??[2J?'"));
  EXPECT_LT(range_error(std::string(100'000, 'x')).size(), 400U);
}

TEST(Range, Negative_IsRefused) {
  EXPECT_THAT(range_error("-4"), HasSubstr("negative"));
}

TEST(Range, AnythingElse_ShowsTheForms) {
  for (const char* text : {"", "abc", "64:", "64:128", "64:128:", "64:128:2", "64:128:*", "64::*2",
                           "a:b:*2", "64:128:*2x", "-64:128:*2", "1e3", "64 :128:*2"}) {
    EXPECT_THAT(range_error(text), HasSubstr("\"64:4096:*2\"")) << text;
  }
}

}  // namespace
}  // namespace attnscope
