// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers of every kind, id for id as Hugging Face's: tests/text/golden/README.md.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "kernels/base/json.h"
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

TEST_P(GoldenTokenizers, EveryTextHasTheIdsOfHuggingFace) {
  const std::vector<json> lines = tests::golden_values("texts.jsonl");
  const std::vector<std::string> wanted = sums("text");
  ASSERT_EQ(wanted.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto ids = tokenizer_->tokenize(lines[i]["text"].get<std::string>());
    EXPECT_EQ(sum_of(ids), wanted[i])
        << lines[i]["text"].dump(-1, ' ', true) << fmt::format(" {}", fmt::join(ids, " "));
  }
}

TEST_P(GoldenTokenizers, PairsAreCutAndPutTogetherAsByHuggingFace) {
  const std::vector<json> lines = tests::golden_values("pairs.jsonl");
  const std::vector<std::string> wanted = sums("pair");
  ASSERT_EQ(wanted.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto pair = tokenizer_->encode(lines[i]["query"].get<std::string>(),
                                         lines[i]["document"].get<std::string>(),
                                         {.most_tokens = lines[i]["most"].get<std::int64_t>()});
    ASSERT_EQ(pair.has_value(), wanted[i] != "-") << lines[i].dump();
    if (!pair) continue;
    const std::string told = fmt::format("{}\n{}", tokenizer_->document_type(),
                                         fmt::join(tests::whole(*tokenizer_, *pair), " "));
    EXPECT_EQ(fmt::format("{:08x}", tests::crc32(told)), wanted[i]) << lines[i].dump();
  }
}

TEST_P(GoldenTokenizers, EveryCodePointHasTheIdsOfHuggingFace) {
  std::uint32_t first = 0;
  for (const std::string& wanted : sums("code-points")) {
    EXPECT_EQ(sum_of(tokenizer_->tokenize(tests::around_code_points(first))), wanted)
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
        normalizer.apply(text);
        lines.append(text) += '\n';
      }
      return;
    }
    const PreTokenizer cutter = PreTokenizer::read(part);
    for (const std::string& text : texts) {
      const TextWords words = cutter.cut(text, true);
      for (const std::string_view word : words.words()) lines.append(word) += '\n';
      lines += '\n';
    }
  });
  EXPECT_TRUE(read.has_value()) << read.error().message;
  if (!lines.empty()) lines.pop_back();
  return fmt::format("{:08x}", tests::crc32(lines));
}

TEST(GoldenParts, EveryNormalizerAndPreTokenizerMakesWhatHuggingFacesMakes) {
  std::vector<std::string> texts, code_points;
  for (const json& line : tests::golden_values("texts.jsonl"))
    texts.push_back(line["text"].get<std::string>());
  for (std::uint32_t first = 0; first < 0x110000; first += 0x1000)
    code_points.push_back(tests::around_code_points(first));
  int parts = 0;
  for (const json& line : tests::golden_values("tokenizers/parts.jsonl")) {
    ++parts;
    EXPECT_EQ(line["texts"], sum_of_lines(line, texts)) << line["json"];
    if (line["code_points"].is_null()) continue;
    EXPECT_EQ(line["code_points"], sum_of_lines(line, code_points)) << line["json"];
  }
  EXPECT_GT(parts, 35);
}

}  // namespace
}  // namespace attnscope
