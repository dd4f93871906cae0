// SPDX-License-Identifier: Apache-2.0
#include "engine/report/model_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace attnscope::report {
namespace {

using testing::HasSubstr;

ModelProfile three_rounds() {
  ModelProfile profile({.model = "mini",
                        .pairs = "pairs.tsv",
                        .implementation = "segment",
                        .dtype = "float32",
                        .threads = 2,
                        .count = 10,
                        .tokens = 1000,
                        .part_flop = {{"projections", 4e9}, {"attention", 1e9}},
                        .flop_per_second = 1e11});
  for (const double more : {0.0, 0.5, 0.1}) {
    profile.add({.whole_seconds = 1 + more,
                 .tokenizer_seconds = 0.1,
                 .part_seconds = {{"projections", 0.4 + more}, {"attention", 0.2}}});
  }
  return profile;
}

TEST(ModelProfile, PartsAreMediansAndOtherIsWhatNoneClaims) {
  const std::vector<ProfiledPart> parts = three_rounds().parts();
  std::vector<std::string> names;
  for (const ProfiledPart& part : parts) names.push_back(part.name);
  EXPECT_THAT(names,
              testing::ElementsAre("tokenizer", "projections", "attention", "other", "whole"));
  EXPECT_DOUBLE_EQ(parts[1].seconds, 0.5);
  EXPECT_DOUBLE_EQ(parts[1].least, 0.4);
  EXPECT_DOUBLE_EQ(parts[1].most, 0.9);
  EXPECT_NEAR(parts[3].seconds, 0.3, 1e-12);
  EXPECT_DOUBLE_EQ(parts[1].flop_per_second, 8e9);
  EXPECT_DOUBLE_EQ(parts[1].of_ceiling, 0.08);
  EXPECT_NEAR(parts[4].flop_per_second, 5e9 / 1.1, 1);
  EXPECT_EQ(parts[0].flop_per_second, 0) << "a tokenizer multiplies nothing";
}

TEST(ModelProfile, IsABarOfAPairsTime) {
  const Figure figure = profile_figure(three_rounds());
  EXPECT_THAT(figure.x_names, testing::ElementsAre("mini"));
  ASSERT_EQ(figure.series.size(), 4U);
  EXPECT_EQ(figure.series[1].name, "projections");
  EXPECT_NEAR(figure.series[1].points.at(0).y, 50, 1e-9);
  EXPECT_EQ(figure.series[1].points.at(0).mark, "8 %");
}

TEST(ModelProfile, IsATableForReadersAndNumbersForPrograms) {
  const std::string text = write_profile(three_rounds(), TableFormat::text);
  EXPECT_THAT(text, HasSubstr("mini on pairs.tsv: 10 pairs, 100 tokens each, float32, attention by "
                              "segment, 2 threads"));
  EXPECT_THAT(text, HasSubstr("█"));
  EXPECT_THAT(text, HasSubstr("Medians of 3 passes; 9 pairs and 909 tokens a second"));
  const auto rows = nlohmann::json::parse(write_profile(three_rounds(), TableFormat::json));
  EXPECT_EQ(rows.at(1).at("part"), "projections");
  EXPECT_EQ(rows.at(1).at("seconds"), 0.5);
  EXPECT_TRUE(rows.at(0).at("of_ceiling").is_null());
}

}  // namespace
}  // namespace attnscope::report
