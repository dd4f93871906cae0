// SPDX-License-Identifier: Apache-2.0
//
// Id for id what Hugging Face's tokenizer answers: tests/text/golden/README.md.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/text/word_piece.h"

namespace attnscope {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

std::filesystem::path golden(const char* name) {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/text/golden" / name;
}

const WordPiece& pieces() {
  static const WordPiece made = [] {
    std::ifstream file(golden("vocab.txt"), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return std::move(WordPiece::parse(text, "vocab.txt").value());
  }();
  return made;
}

std::vector<json> lines_of(const char* name) {
  std::vector<json> lines;
  std::ifstream file(golden(name));
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST(GoldenTexts, EveryTextHasTheIdsOfHuggingFace) {
  const std::vector<json> lines = lines_of("texts.jsonl");
  EXPECT_GE(lines.size(), 2000U);
  for (const json& line : lines) {
    const auto text = line["text"].get<std::string>();
    EXPECT_EQ(pieces().tokenize(text), line["ids"].get<Ids>()) << line["text"].dump(-1, ' ', true);
  }
}

/// [CLS] and both parts, as Hugging Face has them.
Ids whole(const TokenPair& pair) {
  Ids ids{pieces().cls()};
  ids.insert(ids.end(), pair.query.begin(), pair.query.end());
  ids.insert(ids.end(), pair.document.begin(), pair.document.end());
  return ids;
}

TEST(GoldenPairs, OnlyTheDocumentIsCut_AndSoAsByHuggingFace) {
  int cut = 0, refused = 0;
  for (const json& line : lines_of("pairs.jsonl")) {
    const auto pair =
        pieces().encode(line["query"].get<std::string>(), line["document"].get<std::string>(),
                        {.most_tokens = line["most"].get<std::int64_t>()});
    if (line["ids"].is_null()) {
      EXPECT_FALSE(pair.has_value()) << line.dump();
      ++refused;
      continue;
    }
    ASSERT_TRUE(pair.has_value()) << pair.error().message << line.dump();
    EXPECT_EQ(whole(*pair), line["ids"].get<Ids>()) << line.dump();
    Ids types(1 + pair->query.size(), 0);
    types.resize(types.size() + pair->document.size(), 1);
    EXPECT_EQ(types, line["types"].get<Ids>());
    cut += pair->document_cut ? 1 : 0;
  }
  EXPECT_GT(cut, 20);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace attnscope
