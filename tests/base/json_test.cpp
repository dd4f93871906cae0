// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "kernels/base/json.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(std::string_view text) {
  const auto value = parse_json(text, "f.json");
  return value ? "" : value.error().message;
}

TEST(LocatedJson, KeysKnowTheirLinesThoughTheyOccurSeveralTimes) {
  const auto value =
      parse_json("{\n\"a\": {\n  \"x\": 1,\n \"b\": {\"x\":\n\n 2}\n},\n\"x\": 3\n}", "f.json");
  ASSERT_TRUE(value);
  const JsonField root("f.json", *value);
  EXPECT_EQ(root.line(), 1);
  EXPECT_EQ(root.member("a")->line(), 2);
  EXPECT_EQ(root.member("a")->member("x")->line(), 3);
  EXPECT_EQ(root.member("a")->member("b")->member("x")->line(), 4);
  EXPECT_EQ(root.member("a")->member("b")->member("x")->value().line, 6);
  EXPECT_EQ(root.member("x")->line(), 8);
}

TEST(LocatedJson, NumbersBeforeALineBreakLieOnTheirOwnLine) {
  const auto value = parse_json("[\n1\n,\n2.5\n\n,true\n,null,\"s\"\n,-3]", "f.json");
  ASSERT_TRUE(value);
  std::vector<std::int64_t> lines;
  for (const JsonValue& element : value->elements) lines.push_back(element.line);
  EXPECT_THAT(lines, ::testing::ElementsAre(2, 4, 6, 7, 7, 8));
}

TEST(LocatedJson, PathsLeadFromTheRoot) {
  const auto value = parse_json(R"({"a": [{"b": 1}, {"b": 2}]})", "f.json");
  const JsonField root("f.json", *value);
  EXPECT_EQ(root.member("a")->elements()[1].member("b")->path(), "a[1].b");
  EXPECT_FALSE(root.member("c"));
}

TEST(LocatedJson, BrokenTextIsAnErrorWithLineAndColumn) {
  EXPECT_THAT(error_of("{\n  \"a\": 1,\n  \"b\" 2\n}"),
              StartsWith("f.json, line 3, column 7: not valid JSON: "));
  EXPECT_THAT(error_of(""), StartsWith("f.json, line 1, column 1: not valid JSON: "));
  EXPECT_THAT(error_of("{\"a\": [1,\n2"), StartsWith("f.json, line 2, column 2: "));
  EXPECT_THAT(error_of("{} x"), StartsWith("f.json, line 1, column 4: "));
  EXPECT_THAT(error_of("[1e999]"), HasSubstr("number overflow"));
  EXPECT_THAT(error_of("// comment\n{}"), StartsWith("f.json, line 1, column 1: "));
}

TEST(LocatedJson, BrokenUtf8IsAnErrorWhoseMessageIsAscii) {
  const std::string message = error_of("{\"a\": \"\xc3\x28\"}");
  EXPECT_THAT(message, StartsWith("f.json, line 1, column "));
  for (const char c : message) EXPECT_EQ(c & 0x80, 0);
}

TEST(LocatedJson, AFieldGivenTwiceIsAnErrorThatNamesBothLines) {
  EXPECT_EQ(error_of("{\"a\": 1,\n\"b\": 2,\n\"a\": 3}"),
            "f.json, line 3: field 'a' is given twice, first in line 1");
}

TEST(LocatedJson, HostileNestingIsAnError) {
  EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("nested deeper than"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":\n";
  EXPECT_THAT(error_of(objects), StartsWith("f.json, line 65: nested deeper than"));
}

TEST(LocatedJson, ThousandsOfFieldsAreAnError) {
  std::string text = "{\"a\":0";
  for (int i = 0; i < 100'000; ++i) text += fmt::format(",\"k{}\":0", i);
  EXPECT_THAT(error_of(text + "}"), HasSubstr("more than 1000 fields"));
}

TEST(LocatedJson, AnUnknownFieldNamesTheNearestAndClipsLongNames) {
  const auto value = parse_json("{\n\"windw\": 1}", "f.json");
  constexpr std::array<std::string_view, 2> known{"name", "window"};
  EXPECT_EQ(JsonField("f.json", *value).only(known).error().message,
            "f.json, line 2: 'windw' is an unknown field; did you mean 'window'? known: name, "
            "window");
  const auto endless = parse_json("{\"" + std::string(100'000, 'x') + "\": 1}", "f.json");
  EXPECT_LT(JsonField("f.json", *endless).only(known).error().message.size(), 400U);
}

TEST(LocatedJson, WholeNumbersRefuseFractionsRangesAndOtherKinds) {
  const auto value =
      parse_json("[2.0, -1, 11, \"3\", 99999999999999999999, 18446744073709551615]", "f.json");
  const std::vector<JsonField> elements = JsonField("f.json", *value).elements();
  for (const JsonField& element : elements) {
    EXPECT_THAT(element.whole_number(0, 10).error().message,
                HasSubstr("must be a whole number from 0 to 10, not "));
  }
  EXPECT_THAT(elements[3].whole_number(0, 10).error().message, HasSubstr("not a string"));
  EXPECT_THAT(elements[4].whole_number(0, 10).error().message, HasSubstr("99999999999999999999"));
}

TEST(LocatedJson, TextMayHoldAnyUnicode) {
  const auto value = parse_json("\xef\xbb\xbf{\"t\": \"\\u00e4\xe2\x82\xac\"}", "f.json");
  ASSERT_TRUE(value);
  EXPECT_EQ(JsonField("f.json", *value).member("t")->text(), "ä€");
}

}  // namespace
}  // namespace attnscope
