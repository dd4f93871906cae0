// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "engine/pattern/axes.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

TEST(Window, NumberReadsAsThatManyTokens) {
  EXPECT_EQ(parse_window("4"), Window::of(4));
  EXPECT_EQ(parse_window("0"), Window::of(0));
  EXPECT_FALSE(parse_window("0")->is_infinite());
}

TEST(Window, InfReadsAsInfinite) {
  EXPECT_TRUE(parse_window("inf")->is_infinite());
}

TEST(Window, TextReadsBackAsTheSameWindow) {
  for (const Window window : {Window::of(0), Window::of(64), Window::infinite()}) {
    EXPECT_EQ(parse_window(window.text()), window);
  }
}

TEST(Window, AnythingElseIsAnErrorThatQuotesItAndSaysWhatIsAllowed) {
  for (const char* text : {"-1", "4.5", "", " 4", "4 ", "1e3", "+4", "infinite", "0x4", "\xff"}) {
    const auto window = parse_window(text);
    ASSERT_FALSE(window) << text;
    // Bytes that are no UTF-8 are quoted as question marks.
    const std::string_view quoted = std::string_view(text) == "\xff" ? "?" : text;
    EXPECT_THAT(window.error().message, HasSubstr(fmt::format("'{}'", quoted)));
    EXPECT_THAT(window.error().message, HasSubstr("\"inf\""));
  }
}

TEST(Window, NumberBeyond64BitsIsCalledTooLarge) {
  const auto window = parse_window("99999999999999999999");
  ASSERT_FALSE(window);
  EXPECT_THAT(window.error().message, HasSubstr("too large"));
}

}  // namespace
}  // namespace attnscope
