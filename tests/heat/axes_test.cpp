// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/axes.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/worker/protocol.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

/// A point that differs from the default only in this axis.
HeatPoint other_in(const Axis& axis) {
  HeatPoint point{.sequence_tokens = 64};
  if (axis.kind == Axis::Kind::lengths) {
    axis.set(point, LengthDistribution{.median = 20, .p90 = 40, .most = 50}.packed());
  } else {
    axis.set(point, axis.kind == Axis::Kind::number ? axis.get(point) + 1 : 1 - axis.get(point));
  }
  return point;
}

TEST(Axes, EveryMemberOfAPointHasARow) {
  EXPECT_EQ(members_of<HeatPoint>(), heat_axes.size());
}

TEST(Axes, KeysAreFoundAndUnique) {
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

TEST(Axes, EveryAxisIsInThePointKeyAndInMessages) {
  std::set<std::string> keys{point_key({.sequence_tokens = 64})};
  for (const Axis& axis : heat_axes) {
    const HeatPoint sent = other_in(axis);
    keys.insert(point_key(sent));
    const auto received = protocol::read_point(protocol::to_json(sent));
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_EQ(*received, sent) << axis.key;
  }
  EXPECT_EQ(keys.size(), heat_axes.size() + 1);
}

TEST(Axes, NeutralDefaultsAreNotInThePointKey) {
  const std::string attention = point_key({.sequence_tokens = 64});
  EXPECT_THAT(attention, AllOf(Not(HasSubstr("cache=")), Not(HasSubstr("batch_per_contender=")),
                               HasSubstr("shared_query=false")));
  const std::string model =
      point_key({.operation = Operation::model, .sequence_tokens = 64, .layers = 6});
  EXPECT_THAT(model, AllOf(HasSubstr("batch_per_contender=false"), Not(HasSubstr("stage=")),
                           Not(HasSubstr("candidates="))));
}

TEST(Axes, MessagesMayOmitOnlyNeutralDefaults) {
  const HeatPoint sent{.sequence_tokens = 64};
  for (const Axis& axis : heat_axes) {
    nlohmann::json message = protocol::to_json(sent);
    message.erase(axis.key);
    const auto received = protocol::read_point(message);
    if (axis.at_default == Axis::Default::neutral) {
      ASSERT_TRUE(received) << received.error().message;
      EXPECT_EQ(*received, sent) << axis.key;
    } else {
      ASSERT_FALSE(received) << axis.key;
      EXPECT_THAT(received.error().message, HasSubstr(axis.key));
    }
  }
}

TEST(Axes, TextsAreThoseOfOnly) {
  const HeatPoint point{.shared_query = true, .cache = CacheState::cold, .threads = 2};
  EXPECT_EQ(text_of(*find_axis("shared_query"), point), "true");
  EXPECT_EQ(text_of(*find_axis("cache"), point), "cold");
  EXPECT_EQ(text_of(*find_axis("threads"), point), "2");
  EXPECT_EQ(value_of_text(*find_axis("dtype"), "float16"), 1);
  EXPECT_FALSE(value_of_text(*find_axis("dtype"), "float23"));
}

}  // namespace
}  // namespace attnscope
