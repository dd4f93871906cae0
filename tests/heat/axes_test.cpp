// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/axes.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/worker/protocol.h"

namespace attnscope {
namespace {

using testing::HasSubstr;

/// Something that any member of a struct can be initialised with.
struct Anything {
  template <typename T>
  operator T() const;
};
template <typename T, typename... Members>
constexpr std::size_t members_of() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return members_of<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

/// A point that differs in this axis from one that says nothing.
HeatPoint other_in(const Axis& axis) {
  HeatPoint point{.sequence_tokens = 64};
  if (axis.kind == Axis::Kind::lengths) {
    axis.set(point, LengthDistribution{.median = 20, .p90 = 40, .most = 50}.packed());
  } else {
    axis.set(point, axis.kind == Axis::Kind::number ? axis.get(point) + 1 : 1 - axis.get(point));
  }
  return point;
}

TEST(Axes, EveryMemberOfAPoint_HasARow) {
  EXPECT_EQ(members_of<HeatPoint>(), heat_axes.size());
}

TEST(Axes, Keys_AreFoundAndUnique) {
  std::set<std::string_view> keys, fields;
  for (const Axis& axis : heat_axes) {
    keys.insert(axis.key);
    fields.insert(axis.field);
    EXPECT_EQ(find_axis(axis.key), &axis);
  }
  EXPECT_EQ(keys.size(), heat_axes.size());
  EXPECT_EQ(fields.size(), heat_axes.size());
  EXPECT_EQ(find_axis("window"), nullptr);
}

TEST(Axes, EachOfThem_TellsPointsApart) {
  std::set<std::string> keys{point_key({.sequence_tokens = 64})};
  for (const Axis& axis : heat_axes) keys.insert(point_key(other_in(axis)));
  EXPECT_EQ(keys.size(), heat_axes.size() + 1);
}

TEST(Axes, ANeutralDefault_AddsNothingToAPointsIdentity) {
  const HeatPoint attention{.sequence_tokens = 64};
  const HeatPoint model{.operation = Operation::model, .sequence_tokens = 64, .layers = 6};
  EXPECT_THAT(point_key(attention), testing::Not(HasSubstr("cache=")));
  EXPECT_THAT(point_key(attention), testing::Not(HasSubstr("batch_per_contender=")));
  EXPECT_THAT(point_key(attention), HasSubstr("shared_query=false"));
  EXPECT_THAT(point_key(model), HasSubstr("batch_per_contender=false"));
  // What was stored before there were stages keeps its identity.
  EXPECT_THAT(point_key(model), testing::Not(HasSubstr("stage=")));
  EXPECT_THAT(point_key(model), testing::Not(HasSubstr("candidates=")));
}

TEST(Axes, EachOfThem_TravelsInMessages) {
  for (const Axis& axis : heat_axes) {
    const HeatPoint sent = other_in(axis);
    const auto received = protocol::from_json<HeatPoint>(protocol::to_json(sent), "point");
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_EQ(*received, sent) << axis.key;
  }
}

TEST(Axes, InMessages_NeutralDefaultsMayBeLeftOutAndOthersNot) {
  const HeatPoint sent{.sequence_tokens = 64};
  for (const Axis& axis : heat_axes) {
    nlohmann::json message = protocol::to_json(sent);
    message.erase(axis.key);
    const auto received = protocol::from_json<HeatPoint>(message, "point");
    if (axis.at_default == Axis::Default::neutral) {
      ASSERT_TRUE(received) << received.error().message;
      EXPECT_EQ(*received, sent) << axis.key;
    } else {
      ASSERT_FALSE(received) << axis.key;
      EXPECT_THAT(received.error().message, HasSubstr(axis.key));
    }
  }
}

TEST(Axes, Texts_AreThoseOfOnly) {
  const HeatPoint point{.shared_query = true, .cache = CacheState::cold, .threads = 2};
  EXPECT_EQ(text_of(*find_axis("shared_query"), point), "true");
  EXPECT_EQ(text_of(*find_axis("cache"), point), "cold");
  EXPECT_EQ(text_of(*find_axis("threads"), point), "2");
  EXPECT_EQ(value_of_text(*find_axis("dtype"), "float16"), 1);
  EXPECT_FALSE(value_of_text(*find_axis("dtype"), "float23"));
}

}  // namespace
}  // namespace attnscope
