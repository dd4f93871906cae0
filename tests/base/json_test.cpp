// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// What `read` throws; empty where it reads to its end.
template <typename Read>
std::string error_of(std::string_view text, Read read) {
  const Status done = with_json(text, "f.json", read);
  return done ? "" : done.error().message;
}

std::string error_of(std::string_view text) {
  return error_of(text, [](const JsonField&) {});
}

TEST(Json, RepeatedKeysHaveTheirOwnLines) {
  const std::string error =
      error_of("{\n\"a\": {\n  \"x\": 1,\n \"b\": {\"x\":\n\n 2}\n},\n\"x\": 3\n}",
               [](const JsonField& root) {
                 EXPECT_EQ(root.line(), 1);
                 EXPECT_EQ(root["a"].line(), 2);
                 EXPECT_EQ(root["a"]["x"].line(), 3);
                 EXPECT_EQ(root["a"]["b"]["x"].line(), 4);
                 EXPECT_EQ(root["x"].line(), 8);
               });
  EXPECT_EQ(error, "");
}

TEST(Json, ElementsHaveTheirOwnLines) {
  std::vector<std::int64_t> lines;
  error_of("[\n1\n,\n2.5\n\n,true\n,null,\"s\"\n,-3, [\n4]]", [&](const JsonField& root) {
    for (const JsonField& element : root.elements()) lines.push_back(element.line());
    lines.push_back(root.elements().back().elements().front().line());
  });
  EXPECT_THAT(lines, ElementsAre(2, 4, 6, 7, 7, 8, 8, 9));
}

TEST(Json, PathsStartAtTheRoot) {
  error_of(R"({"a": [{"b": 1}, {"b": 2}]})", [](const JsonField& root) {
    EXPECT_EQ(root["a"].elements()[1]["b"].path(), "a[1].b");
    EXPECT_FALSE(root.member("c"));
  });
}

TEST(Json, InvalidJsonIsAnErrorWithLineAndColumn) {
  EXPECT_THAT(error_of("{\n  \"a\": 1,\n  \"b\" 2\n}"),
              StartsWith("f.json, line 3, column 7: not valid JSON: "));
  EXPECT_THAT(error_of(""), StartsWith("f.json, line 1, column 1: not valid JSON: "));
  EXPECT_THAT(error_of("{\"a\": [1,\n2"), StartsWith("f.json, line 2, column 2: "));
  EXPECT_THAT(error_of("{} x"), StartsWith("f.json, line 1, column 4: "));
  EXPECT_THAT(error_of("[1e999]"), HasSubstr("number overflow"));
  EXPECT_THAT(error_of("// comment\n{}"), StartsWith("f.json, line 1, column 1: "));
}

TEST(Json, InvalidUtf8IsAnErrorWithAnAsciiMessage) {
  const std::string message = error_of("{\"a\": \"\xc3\x28\"}");
  EXPECT_THAT(message, StartsWith("f.json, line 1, column "));
  for (const char c : message) EXPECT_EQ(c & 0x80, 0);
}

TEST(Json, DuplicateFieldIsAnErrorWithBothLines) {
  EXPECT_EQ(error_of("{\"a\": 1,\n\"b\": 2,\n\"a\": 3}"),
            "f.json, line 3: field 'a' is given twice, first in line 1");
}

TEST(Json, DuplicateFieldsAreAllowedInNamedObjects) {
  const auto number = [](const char* text, RepeatedIn in) {
    return read_json(
        std::string_view(text), "f.json",
        [](const JsonField& root) { return root["m"]["v"]["a"].whole(); }, in);
  };
  const char* inside = R"({"m": {"v": {"a": 1, "b": 2, "a": 3}}})";
  EXPECT_EQ(number(inside, RepeatedIn("v")).value(), 3);
  for (const RepeatedIn elsewhere : {RepeatedIn(), RepeatedIn(""), RepeatedIn("m")})
    EXPECT_FALSE(number(inside, elsewhere).has_value());
  const char* root = R"({"m": 1, "m": {"v": {"a": 3}}})";
  EXPECT_EQ(number(root, RepeatedIn("")).value(), 3);
  EXPECT_FALSE(number(root, RepeatedIn("v")).has_value());
}

TEST(Json, DeepNestingIsAnError) {
  EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("nested deeper than"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":\n";
  EXPECT_THAT(error_of(objects), StartsWith("f.json, line 65: nested deeper than"));
}

TEST(Json, LimitsDepthAndNumberOfValues) {
  EXPECT_EQ(parse_json("[[1]]"), nlohmann::json({{1}}));
  EXPECT_TRUE(parse_json("[").is_discarded());
  const std::string deep = std::string(80'000, '[') + std::string(80'000, ']');
  EXPECT_TRUE(parse_json(deep).is_discarded());
  EXPECT_TRUE(parse_ordered_json(deep).is_discarded());
  EXPECT_FALSE(parse_json(R"({"text": ")" + deep + R"("})").is_discarded());
  std::string many = "[[]";
  for (std::size_t i = 0; i < most_json_values; ++i) many += ",[]";
  EXPECT_EQ(check_json_size(many + "]").error().message, "has more than 8000000 values");
  EXPECT_THAT(error_of(many + "]"), HasSubstr("f.json: has more than 8000000 values"));
}

TEST(Json, FindsADuplicateAmongManyFields) {
  std::string text = "{\"a\":0";
  for (int i = 0; i < 100'000; ++i) text += fmt::format(",\"k{}\":0", i);
  EXPECT_EQ(error_of(text + "}"), "");
  EXPECT_THAT(error_of(text + ",\n\"k7\":0}"), HasSubstr("line 2: field 'k7' is given twice"));
}

TEST(Json, UnknownFieldSuggestsTheNearestName) {
  const auto read = [](const JsonField& root) { root.only({"name", "window"}); };
  EXPECT_EQ(error_of("{\n\"windw\": 1}", read),
            "f.json, line 2: 'windw' is an unknown field; did you mean 'window'? known: name, "
            "window");
  EXPECT_LT(error_of("{\"" + std::string(100'000, 'x') + "\": 1}", read).size(), 400U);
}

TEST(Json, NamesAMissingField) {
  const auto read = [](const JsonField& root) { static_cast<void>(root["a"]["b"]); };
  EXPECT_EQ(error_of("{\n\"a\": {}}", read), "f.json, line 2: 'a' needs the field 'b'");
  EXPECT_EQ(error_of("{\n\"a\": 7}", read), "f.json, line 2: 'a' must be an object {...}, not 7");
}

TEST(Json, WholeRefusesOtherNumbersAndTypes) {
  for (const char* number :
       {"2.0", "-1", "11", "\"3\"", "99999999999999999999", "18446744073709551615", "[1]"}) {
    EXPECT_THAT(error_of(fmt::format("[{}]", number),
                         [](const JsonField& root) {
                           static_cast<void>(root.elements().front().whole(0, 10));
                         }),
                HasSubstr("'[0]' must be a whole number from 0 to 10, not "))
        << number;
  }
}

TEST(Json, UnknownWordSuggestsTheNearest) {
  constexpr std::array<std::string_view, 2> words{"warm", "cold"};
  EXPECT_EQ(error_of("{\"cache\":\n\"clod\"}",
                     [&](const JsonField& root) {
                       static_cast<void>(root["cache"].one_of(words, "cache state"));
                     }),
            "f.json, line 1: 'cache' is the unknown cache state 'clod'; did you mean 'cold'? "
            "known: warm, cold");
}

TEST(Json, ReadsUnicodeTextAfterAByteOrderMark) {
  const auto text = read_json(std::string_view("\xef\xbb\xbf{\"t\": \"\\u00e4\xe2\x82\xac\"}"),
                              "f.json", [](const JsonField& root) { return root["t"].text(); });
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "ä€");
}

TEST(Json, MessageValuesHaveAPathButNoLine) {
  const nlohmann::json message{{"a", {1, "x"}}};
  const auto read = read_json(
      message, "request", [](const JsonField& root) { return root["a"].elements()[1].whole(); });
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message,
              StartsWith("'request.a[1]' in the protocol message must be a whole number"));
}

}  // namespace
}  // namespace attnscope
