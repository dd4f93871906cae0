// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sentences.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename Enum>
void expect_names(Result<Enum> (*parse)(std::string_view), std::vector<Enum> values,
                  const std::vector<std::string_view>& names) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(name_of(values[i]), names[i]);
    EXPECT_EQ(parse(names[i]), values[i]);
  }
}

TEST(Axes, EveryNameParsesToItsValue) {
  expect_names(&parse_operation,
               {Operation::windowed_matmul, Operation::attention, Operation::model},
               {"windowed-matmul", "attention", "model"});
  expect_names(&parse_direction, {Direction::forward, Direction::forward_backward},
               {"forward", "forward-backward"});
  expect_names(&parse_device, {DeviceKind::cpu, DeviceKind::cuda}, {"cpu", "cuda"});
  expect_names(&parse_dtype, {DType::float32, DType::float16, DType::bfloat16},
               {"float32", "float16", "bfloat16"});
}

TEST(Axes, MemoryOrdersAndCacheStatesHaveNames) {
  EXPECT_EQ(name_of(MemoryOrder::head_major), "head-major");
  EXPECT_EQ(name_of(MemoryOrder::token_major), "token-major");
  EXPECT_EQ(name_of(CacheState::warm), "warm");
  EXPECT_EQ(name_of(CacheState::cold), "cold");
}

TEST(Axes, UnknownNameIsAnErrorWithTheNearestAndAllKnownNames) {
  const auto operation = parse_operation("atention");
  ASSERT_FALSE(operation);
  EXPECT_EQ(operation.error().message,
            "unknown operation 'atention'; did you mean 'attention'? known: windowed-matmul, "
            "attention, model");
  EXPECT_THAT(parse_dtype("float8").error().message, HasSubstr("float32, float16, bfloat16"));
  EXPECT_THAT(parse_device("gpu").error().message, HasSubstr("known: cpu, cuda"));
  EXPECT_THAT(parse_direction("backward").error().message, HasSubstr("forward-backward"));
}

TEST(Suggest, NamesTheNearestKnownNameOfAMisspelling) {
  constexpr std::array<std::string_view, 3> fruits{"apple", "pear", "quince"};
  for (const char* text : {"aple", "appple", "appel", "APPLE", "bpple"})
    EXPECT_THAT(suggest(text, fruits), HasSubstr("did you mean 'apple'?")) << text;
  EXPECT_EQ(suggest("watermelon", fruits), "known: apple, pear, quince");
  EXPECT_EQ(suggest("", fruits), "known: apple, pear, quince");
  constexpr std::array<std::string_view, 1> letters{"q"};
  EXPECT_THAT(suggest("k", letters), Not(HasSubstr("did you mean")));
}

TEST(Window, ParsesANumberOfTokensOrInf) {
  EXPECT_EQ(parse_window("4"), Window::of(4));
  EXPECT_FALSE(parse_window("0")->is_infinite());
  EXPECT_TRUE(parse_window("inf")->is_infinite());
  for (const Window window : {Window::of(0), Window::of(64), Window::infinite()})
    EXPECT_EQ(parse_window(window.text()), window);
}

TEST(Window, OtherTextIsAnErrorThatQuotesIt) {
  for (const char* text : {"-1", "4.5", "", " 4", "4 ", "1e3", "+4", "infinite", "0x4", "\xff"}) {
    const auto window = parse_window(text);
    ASSERT_FALSE(window) << text;
    // Bytes that are not UTF-8 are quoted as question marks.
    const std::string_view quoted = std::string_view(text) == "\xff" ? "?" : text;
    EXPECT_THAT(window.error().message, HasSubstr(fmt::format("'{}'", quoted)));
    EXPECT_THAT(window.error().message, HasSubstr("\"inf\""));
  }
  for (const char* text : {"99999999999999999999", "1000000001"})
    EXPECT_THAT(parse_window(text).error().message, HasSubstr("is above 1000000000; give")) << text;
  EXPECT_TRUE(parse_window("1000000000"));
}

}  // namespace
}  // namespace attnscope
