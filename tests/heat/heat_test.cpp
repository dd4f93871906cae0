// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/heat.h"

#include <gmock/gmock.h>

#include "engine/sweep/heat_measurement.h"
#include "engine/sweep/time_left.h"

namespace attnscope {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

TEST(Contender, Id_EndsWithItsWindow) {
  Contender contender{.pattern = "sparse",
                      .implementation = "segment",
                      .window = Window::of(4),
                      .name = {},
                      .pattern_json = {}};
  EXPECT_EQ(contender.id(), "sparse/segment/4");
  contender.window = Window::infinite();
  EXPECT_EQ(contender.id(), "sparse/segment/inf");
  contender.window.reset();
  EXPECT_EQ(contender.id(), "sparse/segment");
}

TEST(GroupSizes, Attention_CountsEverySeparator) {
  const auto sizes = group_sizes({.sequence_tokens = 174, .query_tokens = 10});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->cls, 1);
  EXPECT_EQ(sizes->query, 11);
  EXPECT_EQ(sizes->document, 162);
}

TEST(GroupSizes, WindowedMatmul_IsOneDocument) {
  const auto sizes = group_sizes({.operation = Operation::windowed_matmul, .sequence_tokens = 64});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->cls, 0);
  EXPECT_EQ(sizes->query, 0);
  EXPECT_EQ(sizes->document, 64);
}

TEST(GroupSizes, Documents_ShareTheDocumentTokensEvenlyAndTheFirstTakeTheRest) {
  const auto sizes = group_sizes({.sequence_tokens = 23, .query_tokens = 10, .documents = 4});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->document, 11);
  EXPECT_THAT(sizes->documents, ElementsAre(3, 3, 3, 2));
  const auto products =
      group_sizes({.operation = Operation::windowed_matmul, .sequence_tokens = 5, .documents = 2});
  ASSERT_TRUE(products);
  EXPECT_THAT(products->documents, ElementsAre(3, 2));
}

TEST(GroupSizes, FewerTokensThanDocuments_AreRefused) {
  EXPECT_TRUE(group_sizes({.sequence_tokens = 16, .query_tokens = 10, .documents = 4}));
  const auto sizes = group_sizes({.sequence_tokens = 15, .query_tokens = 10, .documents = 4});
  ASSERT_FALSE(sizes);
  EXPECT_THAT(sizes.error().message, testing::HasSubstr("each of 4 documents need at least 16"));
  const auto products =
      group_sizes({.operation = Operation::windowed_matmul, .sequence_tokens = 3, .documents = 4});
  ASSERT_FALSE(products);
  EXPECT_THAT(products.error().message, testing::HasSubstr("at least 4, one for each document"));
  EXPECT_FALSE(group_sizes({.sequence_tokens = 64, .documents = 0}));
}

TEST(DividePlacements, AllOfThem_InEqualRuns) {
  EXPECT_THAT(divide_placements(5, 2), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4)));
  EXPECT_THAT(divide_placements(2, 1), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(divide_placements(2, 5), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(TimeLeft, IsEstimatedAnewByWhatChecksAndTimingHaveTaken) {
  Heat heat;
  heat.contenders.resize(5);
  heat.stop = {.max_seconds = 2, .processes = 1};
  const std::chrono::steady_clock::time_point start{};
  TimeLeft left({heat, heat, heat});
  EXPECT_DOUBLE_EQ(left.seconds(start), 30);  // the bound of timing
  left.heat_started(heat, start);
  left.phase_began("prepare", start);
  for (int check = 0; check < 5; ++check) {
    left.phase_began("check", start + seconds(2 * check));
    if (check > 0) continue;
    // The first check takes as long as it has taken and a quarter more; the others follow it.
    EXPECT_DOUBLE_EQ(left.seconds(start + seconds(2)), 30 + 0.5 + 14 * 2);
  }
  left.phase_began("time", start + seconds(10));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(10)), 30 + 10 * 2);
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(14)), 26 + 10 * 2);
  // Late, as the other heats will be: four times the bound.
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(50)), 10 + 20 * 4 + 10 * 2);
  left.heat_finished(start + seconds(15));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(15)), 20 * 0.5 + 10 * 2);
  left.heat_started(heat, start + seconds(15));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(15)), 20 * 0.5 + 10 * 2);
}

}  // namespace
}  // namespace attnscope
