// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/heat.h"

#include <gmock/gmock.h>

#include "engine/sweep/heat_measurement.h"
#include "engine/sweep/time_left.h"

namespace attnscope {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Contender, IdEndsWithItsWindow) {
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

TEST(GroupSizes, DividesTheTokensOfASequence) {
  constexpr Operation matmul = Operation::windowed_matmul;
  struct Row {
    HeatPoint point;
    std::int64_t cls, query, document;
    std::vector<std::int64_t> documents;
  };
  for (const Row& row : std::vector<Row>{
           {{.sequence_tokens = 174, .query_tokens = 10}, 1, 11, 162, {162}},
           {{.operation = matmul, .sequence_tokens = 64}, 0, 0, 64, {64}},
           {{.sequence_tokens = 23, .query_tokens = 10, .documents = 4}, 1, 11, 11, {3, 3, 3, 2}},
           {{.sequence_tokens = 16, .query_tokens = 10, .documents = 4}, 1, 11, 4, {1, 1, 1, 1}},
           {{.operation = matmul, .sequence_tokens = 5, .documents = 2}, 0, 0, 5, {3, 2}}}) {
    SCOPED_TRACE(row.point.sequence_tokens);
    const auto sizes = group_sizes(row.point);
    ASSERT_TRUE(sizes) << sizes.error().message;
    EXPECT_EQ(sizes->cls, row.cls);
    EXPECT_EQ(sizes->query, row.query);
    EXPECT_EQ(sizes->document, row.document);
    EXPECT_EQ(sizes->documents, row.documents);
  }
}

TEST(GroupSizes, RefusesFewerTokensThanDocuments) {
  const auto error = [](const HeatPoint& point) { return group_sizes(point).error().message; };
  EXPECT_THAT(error({.sequence_tokens = 15, .query_tokens = 10, .documents = 4}),
              HasSubstr("each of 4 documents need at least 16"));
  EXPECT_THAT(
      error({.operation = Operation::windowed_matmul, .sequence_tokens = 3, .documents = 4}),
      HasSubstr("at least 4, one for each document"));
  EXPECT_FALSE(group_sizes({.sequence_tokens = 64, .documents = 0}));
}

TEST(GroupSizes, DrawnLengthsUseTheLongest) {
  HeatPoint point{.operation = Operation::model,
                  .sequence_tokens = 2013,
                  .document_lengths = {.median = 804, .p90 = 3267, .most = 2000}};
  EXPECT_EQ(tokens_with_words(point, 2000), 2013);
  EXPECT_EQ(group_sizes(point)->document, 2001);
  point.sequence_tokens = 512;
  EXPECT_THAT(group_sizes(point).error().message, HasSubstr("are 2013 sequence_tokens, not 512"));
}

TEST(DividePlacements, GivesEveryProcessAsMany) {
  EXPECT_THAT(divide_placements(5, 2), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4)));
  EXPECT_THAT(divide_placements(2, 1), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(divide_placements(2, 5), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(TimeLeft, FollowsTheTimesOfChecksAndTiming) {
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
    // A quarter of the elapsed time is added to the first check; the others take as long.
    EXPECT_DOUBLE_EQ(left.seconds(start + seconds(2)), 30 + 0.5 + 14 * 2);
  }
  left.phase_began("time", start + seconds(10));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(10)), 30 + 10 * 2);
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(14)), 26 + 10 * 2);
  // Four times the bound, also for the other heats.
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(50)), 10 + 20 * 4 + 10 * 2);
  left.heat_finished(start + seconds(15));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(15)), 20 * 0.5 + 10 * 2);
  left.heat_started(heat, start + seconds(15));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(15)), 20 * 0.5 + 10 * 2);
}

}  // namespace
}  // namespace attnscope
