// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "engine/heat/axes.h"
#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

Sweep sweep() {
  return *parse_sweep(R"({"contenders": ["full/dense", "sparse/segment"], "windows": [4, 64],
                          "sequence_tokens": "64:512:*2", "heads": [2, 12]})",
                      "my.json");
}

Result<Sweep> filtered(std::string_view text) {
  auto filter = parse_only(text);
  return filter ? only(sweep(), *filter) : Result<Sweep>(tl::unexpected(filter.error()));
}

TEST(Only, PointKeys_KeepHeatsAndNumberThemAnew) {
  const auto kept = filtered("sequence_tokens=512,heads=12");
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(kept->heats, SizeIs(1));
  EXPECT_EQ(kept->heats[0].index, 0);
  EXPECT_EQ(kept->heats[0].point.sequence_tokens, 512);
  EXPECT_THAT(kept->heats[0].contenders, SizeIs(3));
}

TEST(Only, EveryAxis_IsAKey) {
  for (const Axis& axis : heat_axes) {
    const std::string value = text_of(axis, sweep().heats.front().point);
    const auto kept = filtered(fmt::format("{}={}", axis.key, value));
    ASSERT_TRUE(kept) << kept.error().message;
    for (const Heat& heat : kept->heats) EXPECT_EQ(text_of(axis, heat.point), value) << axis.key;
    EXPECT_FALSE(filtered(fmt::format("{}=other", axis.key))) << axis.key;
  }
}

TEST(Only, RepeatedKey_KeepsEitherValue) {
  EXPECT_THAT(filtered("sequence_tokens=64,sequence_tokens=512")->heats, SizeIs(4));
}

TEST(Only, ContenderKeys_KeepContenders) {
  const auto kept = filtered("window=4,window=none");
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(kept->heats, SizeIs(8));
  ASSERT_THAT(kept->heats[0].contenders, SizeIs(2));
  EXPECT_EQ(kept->heats[0].contenders[1].id(), "sparse/segment/4");
  EXPECT_THAT(filtered("contender=full/dense")->heats[0].contenders, SizeIs(1));
  EXPECT_THAT(filtered("implementation=segment")->heats[0].contenders, SizeIs(2));
}

TEST(Only, AContenderIsNamedByItsIdOrAsItIsDisplayed_CommasIncluded) {
  const std::string name = sweep().heats[0].contenders[1].name;
  EXPECT_THAT(name, HasSubstr(", w = 4"));
  const auto kept = filtered("contender=" + name + ",heads=12,contender=full/dense");
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(kept->heats, SizeIs(4));
  ASSERT_THAT(kept->heats[0].contenders, SizeIs(2));
  EXPECT_EQ(kept->heats[0].contenders[1].id(), "sparse/segment/4");
  EXPECT_THAT(filtered("name=" + name)->heats[0].contenders, SizeIs(1));
  // Values of other keys end at a comma.
  EXPECT_FALSE(filtered("window=4,64"));
}

TEST(Only, LengthIsTheWordForSequenceTokens) {
  EXPECT_THAT(filtered("length=64,length=512")->heats, SizeIs(4));
}

TEST(Only, TextOfTheSweep_IsKept) {
  EXPECT_EQ(filtered("heads=2")->text, sweep().text);
}

TEST(Only, UnknownKey_NamesTheNearest) {
  EXPECT_THAT(filtered("windw=4").error().message, HasSubstr("did you mean 'window'?"));
}

TEST(Only, KeyThatOnlyAResultHas_IsUnknownBeforeARun) {
  EXPECT_THAT(filtered("median_ms=4").error().message, HasSubstr("a sweep has no key"));
}

TEST(Only, NothingLeft_SaysWhatThereIs) {
  EXPECT_THAT(filtered("sequence_tokens=100").error().message,
              AllOf(HasSubstr("leaves nothing"), HasSubstr("sequence_tokens: 64, 128, 256, 512")));
}

TEST(Only, WithoutKeyOrValue_ShowsTheForm) {
  for (const char* text : {"", "window", "=4", "window=", "window=4,", "window=4,64"}) {
    EXPECT_THAT(filtered(text).error().message, HasSubstr("KEY=VALUE")) << text;
  }
}

Result<Sweep> skipping(const std::string& skip) {
  return parse_sweep(R"({"contenders": ["cross-bert/segment", "dual-bert/segment"],
                         "operation": "model", "stage": ["offline", "online"],
                         "candidates": [10, 1000], "query_tokens": 18, "sequence_tokens": 199,
                         "skip": )" +
                         skip + "}",
                     "my.json");
}

TEST(Skip, CellsThatMatch_AreLeftOutAndTheirHeatsStay) {
  const auto sweep = skipping(R"(["model=cross-bert,candidates=1000"])");
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_THAT(sweep->heats, SizeIs(3));
  // Documents are encoded for any number of candidates, and none of it is left out.
  EXPECT_EQ(sweep->heats[0].point.stage, Stage::offline);
  EXPECT_THAT(sweep->heats[0].contenders, SizeIs(2));
  EXPECT_THAT(sweep->heats[1].contenders, SizeIs(2));
  EXPECT_THAT(sweep->heats[2].contenders, SizeIs(1));
  EXPECT_THAT(contenders_of(*sweep), SizeIs(2));
  // --only of one number of candidates keeps what they were encoded by.
  EXPECT_THAT(only(*sweep, *parse_only("candidates=10"))->heats, SizeIs(2));
}

TEST(Skip, AHeatWithoutCells_IsNone) {
  EXPECT_THAT(skipping(R"("stage=offline")")->heats, SizeIs(2));
}

TEST(Skip, WhatMatchesNothingOrAll_IsRefusedAtItsLine) {
  EXPECT_THAT(skipping(R"("candidates=7")").error().message,
              AllOf(HasSubstr("my.json"), HasSubstr("removes no cell"), HasSubstr("10, 1000")));
  EXPECT_THAT(skipping(R"(["stage=offline", "stage=online"])").error().message,
              HasSubstr("removes all cells"));
  EXPECT_THAT(skipping(R"("candidate=7")").error().message,
              HasSubstr("did you mean 'candidates'?"));
  EXPECT_THAT(skipping(R"("candidates")").error().message, HasSubstr("is not KEY=VALUE"));
}

}  // namespace
}  // namespace attnscope
