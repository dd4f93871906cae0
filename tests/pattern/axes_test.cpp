// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sentences.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Axes, EveryNameReadsBackAsItsValue) {
  for (auto v : {Operation::windowed_matmul, Operation::attention, Operation::model}) {
    EXPECT_EQ(parse_operation(name_of(v)), v);
  }
  for (auto v : {Direction::forward, Direction::forward_backward}) {
    EXPECT_EQ(parse_direction(name_of(v)), v);
  }
  for (auto v : {MemoryOrder::head_major, MemoryOrder::token_major}) {
    EXPECT_EQ(parse_memory_order(name_of(v)), v);
  }
  for (auto v : {CacheState::warm, CacheState::cold}) EXPECT_EQ(parse_cache(name_of(v)), v);
  for (auto v : {DeviceKind::cpu, DeviceKind::cuda}) EXPECT_EQ(parse_device(name_of(v)), v);
  for (auto v : {DType::float32, DType::float16, DType::bfloat16}) {
    EXPECT_EQ(parse_dtype(name_of(v)), v);
  }
}

TEST(Axes, NamesAreTheWordsOfSweepsAndTables) {
  EXPECT_EQ(name_of(Operation::windowed_matmul), "windowed-matmul");
  EXPECT_EQ(name_of(Direction::forward_backward), "forward-backward");
  EXPECT_EQ(name_of(MemoryOrder::head_major), "head-major");
  EXPECT_EQ(name_of(CacheState::cold), "cold");
  EXPECT_EQ(name_of(DeviceKind::cuda), "cuda");
  EXPECT_EQ(name_of(DType::bfloat16), "bfloat16");
}

TEST(Axes, UnknownNameIsAnErrorWithTheNearestAndAllKnown) {
  const auto operation = parse_operation("atention");
  ASSERT_FALSE(operation);
  EXPECT_EQ(operation.error().message,
            "unknown operation 'atention'; did you mean 'attention'? known: windowed-matmul, "
            "attention, model");
  EXPECT_THAT(parse_dtype("float8").error().message, HasSubstr("float32, float16, bfloat16"));
  EXPECT_THAT(parse_device("gpu").error().message, HasSubstr("known: cpu, cuda"));
  EXPECT_THAT(parse_cache("hot").error().message, HasSubstr("known: warm, cold"));
  EXPECT_THAT(parse_memory_order("head_major").error().message, HasSubstr("'head-major'?"));
  EXPECT_THAT(parse_direction("backward").error().message, HasSubstr("forward-backward"));
}

constexpr std::array<std::string_view, 3> fruits{"apple", "pear", "quince"};

TEST(NearestName, MisspellingsAreMended) {
  for (const char* text : {"aple", "appple", "appel", "APPLE", "bpple"}) {
    EXPECT_THAT(suggest(text, fruits), HasSubstr("did you mean 'apple'?")) << text;
  }
}

TEST(NearestName, AWordFarFromAllIsNotMendedButTheKnownAreListed) {
  EXPECT_EQ(suggest("watermelon", fruits), "known: apple, pear, quince");
  EXPECT_EQ(suggest("", fruits), "known: apple, pear, quince");
}

TEST(NearestName, OneLetterIsNotEverybodysNeighbour) {
  constexpr std::array<std::string_view, 1> letters{"q"};
  EXPECT_THAT(suggest("k", letters), Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace attnscope
