// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/heat/axes.h"
#include "engine/sweep/sweep.h"
#include "tests/sweep/refusals.h"

namespace attnscope {
namespace {

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

TEST(Only, KeepsMatchingHeatsWithNewNumbersAndTheText) {
  const auto kept = filtered("sequence_tokens=512,heads=12");
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(kept->heats, SizeIs(1));
  EXPECT_EQ(kept->heats[0].index, 0);
  EXPECT_EQ(kept->heats[0].point.sequence_tokens, 512);
  EXPECT_THAT(kept->heats[0].contenders, SizeIs(3));
  EXPECT_EQ(kept->text, sweep().text);
}

TEST(Only, EveryAxisIsAKey) {
  for (const Axis& axis : heat_axes) {
    const std::string value = text_of(axis, sweep().heats.front().point);
    const auto kept = filtered(fmt::format("{}={}", axis.key, value));
    ASSERT_TRUE(kept) << kept.error().message;
    for (const Heat& heat : kept->heats) EXPECT_EQ(text_of(axis, heat.point), value) << axis.key;
    EXPECT_FALSE(filtered(fmt::format("{}=other", axis.key))) << axis.key;
  }
}

TEST(Only, KeepsHeatsAndContendersThatMatchAnyValueOfAKey) {
  const std::string shown = sweep().heats[0].contenders[1].name;
  EXPECT_THAT(shown, HasSubstr(", w = 4"));
  struct Row {
    std::string filter;
    std::size_t heats, contenders;
    const char* last_contender;
  };
  for (const auto& [filter, heats, contenders, last] : std::vector<Row>{
           {"sequence_tokens=64,sequence_tokens=512", 4, 3, "sparse/segment/64"},
           {"length=64,length=512", 4, 3, "sparse/segment/64"},
           {"window=4,window=none", 8, 2, "sparse/segment/4"},
           {"contender=full/dense", 8, 1, "full/dense"},
           {"implementation=segment", 8, 2, "sparse/segment/64"},
           {"name=" + shown, 8, 1, "sparse/segment/4"},
           {"contender=" + shown + ",heads=12,contender=full/dense", 4, 2, "sparse/segment/4"}}) {
    const auto kept = filtered(filter);
    ASSERT_TRUE(kept) << kept.error().message;
    ASSERT_THAT(kept->heats, SizeIs(heats)) << filter;
    ASSERT_THAT(kept->heats[0].contenders, SizeIs(contenders)) << filter;
    EXPECT_EQ(kept->heats[0].contenders.back().id(), last) << filter;
  }
}

TEST(Only, RefusesInvalidFilters) {
  const auto error = [](std::string_view text) { return message_of(filtered(text)); };
  expect_refused(
      {{"windw=4", {"did you mean 'window'?"}},
       {"median_ms=4", {"a sweep has no key"}},  // a column of results
       {"sequence_tokens=100", {"leaves nothing", "sequence_tokens: 64, 128, 256, 512"}}},
      error);
  for (const char* text : {"", "window", "=4", "window=", "window=4,", "window=4,64"})
    EXPECT_THAT(error(text), HasSubstr("KEY=VALUE")) << text;
}

Result<Sweep> skipping(std::string_view skip) {
  return parse_sweep(fmt::format(R"({{"contenders": ["cross-bert/segment", "dual-bert/segment"],
                       "operation": "model", "stage": ["offline", "online"],
                       "candidates": [10, 1000], "query_tokens": 18, "sequence_tokens": 199,
                       "skip": {}}})",
                                 skip),
                     "my.json");
}

TEST(Skip, RemovesMatchingCellsAndEmptyHeats) {
  const auto sweep = skipping(R"(["model=cross-bert,candidates=1000"])");
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_THAT(sweep->heats, SizeIs(3));
  // Documents are encoded for any number of candidates, so that no cell of this heat matches.
  EXPECT_EQ(sweep->heats[0].point.stage, Stage::offline);
  EXPECT_THAT(sweep->heats[0].contenders, SizeIs(2));
  EXPECT_THAT(sweep->heats[1].contenders, SizeIs(2));
  EXPECT_THAT(sweep->heats[2].contenders, SizeIs(1));
  EXPECT_THAT(contenders_of(*sweep), SizeIs(2));
  // --only of one number of candidates keeps the stage that encodes their documents.
  EXPECT_THAT(only(*sweep, *parse_only("candidates=10"))->heats, SizeIs(2));
  EXPECT_THAT(skipping(R"("stage=offline")")->heats, SizeIs(2));
}

TEST(Skip, RefusesFiltersThatMatchNothingOrEverything) {
  expect_refused({{R"("candidates=7")", {"my.json", "removes no cell", "10, 1000"}},
                  {R"(["stage=offline", "stage=online"])", {"removes all cells"}},
                  {R"("candidate=7")", {"did you mean 'candidates'?"}},
                  {R"("candidates")", {"is not KEY=VALUE"}}},
                 [](std::string_view skip) { return message_of(skipping(skip)); });
}

}  // namespace
}  // namespace attnscope
