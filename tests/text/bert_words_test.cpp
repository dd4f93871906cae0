// SPDX-License-Identifier: Apache-2.0
//
// Words as split by BERT's basic tokenizer, for every character.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <ios>
#include <string>

#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "tests/text/golden_texts.h"

namespace attnscope {
namespace {

/// Separated by spaces.
std::string words_of_bert(std::string_view text, const TextRules& rules = {}) {
  std::string normal = as_utf8(text);
  EXPECT_TRUE(Normalizer::bert(rules).apply(normal).has_value());
  const TextWords words = PreTokenizer::bert().cut(normal, true).value();
  return fmt::format("{}", fmt::join(words.words(), " "));
}

/// One line per word, and an empty line after every code point.
std::string words_around(std::uint32_t first, std::uint32_t count) {
  std::string words;
  for (std::uint32_t c = first; c < first + count; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;  // surrogates
    std::string text = "A";
    append_character(text, c);
    std::string split = words_of_bert(text + "b");
    for (char& byte : split) byte = byte == ' ' ? '\n' : byte;
    words += fmt::format("{}\n\n", split);
  }
  if (!words.empty()) words.pop_back();
  return words;
}

TEST(BertWords, SplitsEveryCodePointAsHuggingFace) {
  std::ifstream file(tests::golden("code_points.txt"));
  std::uint32_t first = 0, sum = 0, blocks = 0;
  while (file >> std::hex >> first >> sum) {
    EXPECT_EQ(tests::crc32(words_around(first, 0x1000)), sum) << std::hex << "block " << first;
    ++blocks;
  }
  EXPECT_EQ(blocks, 0x110U);
}

TEST(BertWords, SplitsAtPunctuationAndSpaces) {
  EXPECT_EQ(words_of_bert("  Don't\tstop,now! "), "don ' t stop , now !");
  EXPECT_EQ(words_of_bert(""), "");
  EXPECT_EQ(words_of_bert(" \n"), "");
}

TEST(BertWords, StripsAccentsButKeepsOtherLetters) {
  EXPECT_EQ(words_of_bert("Élève Łódź Ørsted"), "eleve łodz ørsted");
}

TEST(BertWords, EveryRuleCanBeDisabled) {
  EXPECT_EQ(words_of_bert("É", {.strip_accents = false}), "é");
  EXPECT_EQ(words_of_bert("É", {.lowercase = false}), "E");
  EXPECT_EQ(words_of_bert("a中b", {.handle_chinese_chars = false}), "a中b");
  EXPECT_EQ(words_of_bert("a\u00adb", {.clean_text = false}), "a\u00adb");
}

TEST(BertWords, RemovesInvalidUtf8) {
  EXPECT_EQ(words_of_bert("a\xff\xc3(b\xf0\x9f"), "a ( b");
  EXPECT_EQ(words_of_bert("a\xed\xa0\x80z"), "az");
}

}  // namespace
}  // namespace attnscope
