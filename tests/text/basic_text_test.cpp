// SPDX-License-Identifier: Apache-2.0
//
// Words as BERT's basic tokenizer makes them, character by character.

#include "engine/text/basic_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unicode/utf8.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

namespace attnscope {
namespace {

std::uint32_t crc32(std::string_view bytes) {
  constexpr std::uint32_t polynomial = 0xEDB88320;
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? polynomial : 0);
  }
  return ~sum;
}

std::string utf8_of(std::uint32_t code_point) {
  std::string text(U8_MAX_LENGTH, '\0');
  std::int32_t size = 0;
  U8_APPEND_UNSAFE(reinterpret_cast<std::uint8_t*>(text.data()), size, code_point);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

/// A line a word, an empty one behind every code point.
std::string words_around(std::uint32_t first, std::uint32_t count) {
  std::string words;
  for (std::uint32_t c = first; c < first + count; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;  // surrogates
    std::string split = split_into_words(fmt::format("A{}b", utf8_of(c)), {});
    for (char& byte : split) byte = byte == ' ' ? '\n' : byte;
    words += fmt::format("{}\n\n", split);
  }
  if (!words.empty()) words.pop_back();
  return words;
}

TEST(BasicText, EveryCodePointFallsIntoWordsAsWithHuggingFace) {
  std::ifstream file(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) /
                     "tests/text/golden/code_points.txt");
  std::uint32_t first = 0, sum = 0, blocks = 0;
  while (file >> std::hex >> first >> sum) {
    EXPECT_EQ(crc32(words_around(first, 0x1000)), sum) << std::hex << "block " << first;
    ++blocks;
  }
  EXPECT_EQ(blocks, 0x110U);
}

TEST(BasicText, PunctuationAndSpacesEndWords) {
  EXPECT_EQ(split_into_words("  Don't\tstop,now! ", {}), "don ' t stop , now !");
  EXPECT_EQ(split_into_words("", {}), "");
  EXPECT_EQ(split_into_words(" \n", {}), "");
}

TEST(BasicText, AccentsGo_LettersThatAreNoDecompositionStay) {
  EXPECT_EQ(split_into_words("Élève Łódź Ørsted", {}), "eleve łodz ørsted");
}

TEST(BasicText, EveryRuleCanBeSwitchedOff) {
  EXPECT_EQ(split_into_words("É", {.strip_accents = false}), "é");
  EXPECT_EQ(split_into_words("É", {.lowercase = false}), "E");
  EXPECT_EQ(split_into_words("a中b", {.handle_chinese_chars = false}), "a中b");
  EXPECT_EQ(split_into_words("a\u00adb", {.clean_text = false}), "a\u00adb");
}

TEST(BasicText, BytesThatAreNoUtf8Go) {
  EXPECT_EQ(split_into_words("a\xff\xc3(b\xf0\x9f", {}), "a ( b");
  EXPECT_EQ(split_into_words("a\xed\xa0\x80z", {}), "az");
}

}  // namespace
}  // namespace attnscope
