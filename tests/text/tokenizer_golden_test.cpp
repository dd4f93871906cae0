// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers of every kind, compared with Hugging Face's by ids: tests/text/golden/README.md.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <ios>
#include <string>

#include "base/json.h"
#include "engine/text/characters.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "tests/text/golden_texts.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::string sum_of(const std::vector<std::int32_t>& ids) {
  return fmt::format("{:08x}", tests::crc32(fmt::format("{}", fmt::join(ids, " "))));
}

class GoldenTokenizers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = fmt::format("tokenizers/{}.json", GetParam());
    auto parts = read_tokenizer_json(tests::golden_text(name), name);
    ASSERT_TRUE(parts.has_value()) << parts.error().message;
    tokenizer_.emplace(std::move(*parts));
  }
  /// What follows the word in the lines of sums that begin with it.
  static std::vector<std::string> sums(std::string_view of) {
    std::vector<std::string> found;
    for (const std::string& line :
         tests::golden_lines(fmt::format("tokenizers/{}.sums", GetParam()))) {
      if (line.starts_with(of)) found.push_back(line.substr(of.size() + 1));
    }
    return found;
  }
  std::optional<SubwordTokenizer> tokenizer_;
};

TEST_P(GoldenTokenizers, TextsMatchHuggingFaceIds) {
  const std::vector<json> lines = tests::golden_values("texts.jsonl.gz");
  const std::vector<std::string> wanted = sums("text");
  ASSERT_EQ(wanted.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto ids = *tokenizer_->tokenize(lines[i]["text"].get<std::string>());
    EXPECT_EQ(sum_of(ids), wanted[i])
        << lines[i]["text"].dump(-1, ' ', true) << fmt::format(" {}", fmt::join(ids, " "));
  }
}

TEST_P(GoldenTokenizers, PairsMatchHuggingFace) {
  const std::vector<json> lines = tests::golden_values("pairs.jsonl");
  const std::vector<std::string> wanted = sums("pair");
  ASSERT_EQ(wanted.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto pair = tokenizer_->encode(lines[i]["query"].get<std::string>(),
                                         lines[i]["document"].get<std::string>(),
                                         {.most_tokens = lines[i]["most"].get<std::int64_t>()});
    ASSERT_TRUE(pair.has_value()) << lines[i].dump();
    const std::string reported = fmt::format("{}\n{}", tokenizer_->document_type(),
                                             fmt::join(tests::whole(*tokenizer_, *pair), " "));
    EXPECT_EQ(fmt::format("{:08x}", tests::crc32(reported)), wanted[i]) << lines[i].dump();
  }
}

TEST_P(GoldenTokenizers, CodePointsMatchHuggingFaceIds) {
  std::uint32_t first = 0;
  for (const std::string& wanted : sums("code-points")) {
    EXPECT_EQ(sum_of(*tokenizer_->tokenize(tests::around_code_points(first))), wanted)
        << fmt::format("block {:X}", first);
    first += 0x1000;
  }
  EXPECT_TRUE(first == 0x110000 || std::string_view(GetParam()) == "split");
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenTokenizers,
                         testing::Values("roberta", "modern", "split", "characters", "xlm-roberta",
                                         "metaspace"),
                         [](const auto& info) {
                           const std::string_view name = info.param;
                           return std::string(name.substr(0, name.find('-')));
                         });

/// What a normalizer makes of texts, a line each, or a pre-tokenizer, a line a word.
std::string sum_of_lines(const json& line, const std::vector<std::string>& texts) {
  std::string lines;
  const Status read = with_json(line["json"], "part", [&](const JsonField& part) {
    if (!line["cuts"].get<bool>()) {
      const Normalizer normalizer = Normalizer::read(part);
      for (std::string text : texts) {
        EXPECT_TRUE(normalizer.apply(text).has_value());
        lines.append(text) += '\n';
      }
      return;
    }
    const PreTokenizer cutter = PreTokenizer::read(part);
    for (const std::string& text : texts) {
      const TextWords words = cutter.cut(text, true).value();
      for (const std::string_view word : words.words()) lines.append(word) += '\n';
      lines += '\n';
    }
  });
  EXPECT_TRUE(read.has_value()) << read.error().message;
  if (!lines.empty()) lines.pop_back();
  return fmt::format("{:08x}", tests::crc32(lines));
}

std::vector<std::string> code_point_texts() {
  std::vector<std::string> texts;
  for (std::uint32_t first = 0; first < 0x110000; first += 0x1000)
    texts.push_back(tests::around_code_points(first));
  return texts;
}

std::vector<std::string> golden_texts() {
  std::vector<std::string> texts;
  for (const json& line : tests::golden_values("texts.jsonl.gz"))
    texts.push_back(line["text"].get<std::string>());
  return texts;
}

TEST(GoldenParts, NormalizersAndPreTokenizersMatchHuggingFace) {
  const std::vector<std::string> texts = golden_texts(), code_points = code_point_texts();
  int parts = 0;
  for (const json& line : tests::golden_values("tokenizers/parts.jsonl")) {
    ++parts;
    EXPECT_EQ(line["texts"], sum_of_lines(line, texts)) << line["json"];
    if (line["code_points"].is_null()) continue;
    EXPECT_EQ(line["code_points"], sum_of_lines(line, code_points)) << line["json"];
  }
  EXPECT_GT(parts, 35);
}

bool all_below(std::string_view utf8, char32_t end) {
  for (std::size_t at = 0; at < utf8.size();)
    if (next_character(utf8, at) >= end) return false;
  return true;
}

TEST(GoldenExpressions, RegularExpressionsSplitAsHuggingFace) {
  const std::vector<std::string> texts = golden_texts(), code_points = code_point_texts();
  int expressions = 0;
  for (const json& line : tests::golden_values("tokenizers/expressions.jsonl")) {
    ++expressions;
    const json split = {{"type", "Split"},
                        {"pattern", {{"Regex", line["regex"]}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    if (line["texts"].is_null()) {
      const Status read = with_json(split, "part", [](const JsonField& part) {
        static_cast<void>(PreTokenizer::read(part));
      });
      ASSERT_FALSE(read.has_value()) << line["regex"];
      EXPECT_THAT(read.error().message, testing::HasSubstr("is a regular expression that is not"));
      continue;
    }
    const json part = {{"json", split}, {"cuts", true}};
    std::vector<std::string> some;
    for (const std::string& text : texts)
      if (all_below(text, line["below"].get<char32_t>())) some.push_back(text);
    EXPECT_EQ(line["texts"], sum_of_lines(part, some)) << line["regex"];
    if (line["code_points"].is_null()) continue;
    EXPECT_EQ(line["code_points"], sum_of_lines(part, code_points)) << line["regex"];
  }
  EXPECT_GT(expressions, 100);
}

TEST(GoldenFiles, AreReadOrRefusedAsHuggingFaceDoes) {
  const std::vector<json> texts = tests::golden_values("tokenizers/file_texts.jsonl");
  int files = 0;
  for (const json& line : tests::golden_values("tokenizers/files.jsonl.gz")) {
    const std::string file = line["file"].get<std::string>();
    auto parts = read_tokenizer_json(file, "tokenizer.json");
    EXPECT_EQ(parts.has_value(), !line["ids"].is_null()) << file << "\n"
                                                         << (parts ? "" : parts.error().message);
    ++files;
    if (!parts || line["ids"].is_null()) continue;
    const SubwordTokenizer tokenizer(std::move(*parts));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const json& wanted = line["ids"][i];
      if (wanted.is_string()) continue;  // a panic
      const auto ids = tokenizer.tokenize(texts[i].get<std::string>());
      EXPECT_EQ(ids ? json(*ids) : json(), wanted) << texts[i] << " by " << file;
    }
    if (!line["pair"].is_array()) continue;
    const auto pair =
        tokenizer.encode(texts[0].get<std::string>(), texts[1].get<std::string>(), {});
    ASSERT_TRUE(pair.has_value()) << file;
    EXPECT_EQ(json(tests::whole(tokenizer, *pair)), line["pair"]) << file;
  }
  EXPECT_GT(files, 200);
}

using Ids = std::vector<std::int32_t>;

const SubwordTokenizer& pieces() {
  static const SubwordTokenizer made =
      std::move(tests::bert_tokenizer(tests::golden_text("vocab.txt")).value());
  return made;
}

TEST(GoldenTexts, MatchHuggingFaceIds) {
  const std::vector<json> lines = tests::golden_values("texts.jsonl.gz");
  EXPECT_GE(lines.size(), 2000U);
  for (const json& line : lines) {
    const auto text = line["text"].get<std::string>();
    EXPECT_EQ(*pieces().tokenize(text), line["ids"].get<Ids>()) << line["text"].dump(-1, ' ', true);
  }
}

TEST(GoldenPairs, TruncateTheLongerTextFirstAsHuggingFace) {
  int documents = 0, queries = 0;
  for (const json& line : tests::golden_values("pairs.jsonl")) {
    const auto pair =
        pieces().encode(line["query"].get<std::string>(), line["document"].get<std::string>(),
                        {.most_tokens = line["most"].get<std::int64_t>()});
    ASSERT_TRUE(pair.has_value()) << pair.error().message << line.dump();
    EXPECT_EQ(tests::whole(pieces(), *pair), line["ids"].get<Ids>()) << line.dump();
    Ids types(1 + pair->query.size(), 0);
    types.resize(types.size() + pair->document.size(), pieces().document_type());
    EXPECT_EQ(types, line["types"].get<Ids>());
    documents += pair->document_cut ? 1 : 0;
    queries += pair->query_cut ? 1 : 0;
  }
  EXPECT_GT(documents, 20);
  EXPECT_GT(queries, 10);
}

// Words as split by BERT's basic tokenizer, for every character.

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
