#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Files of tests/text/golden: tests/text/golden/README.md.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_file.h"
#include "engine/text/characters.h"
#include "engine/text/subword_tokenizer.h"
#include "engine/text/tokenizer_folder.h"

namespace attnscope::tests {

inline std::filesystem::path golden(std::string_view name) {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/text/golden" / name;
}

inline std::string golden_text(std::string_view name) {
  std::ifstream file(golden(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> golden_lines(std::string_view name) {
  std::vector<std::string> lines;
  Result<LineFile> file = LineFile::open(golden(name));
  while (file) {
    const auto line = file->next();
    if (!line || !*line) break;
    lines.emplace_back((*line)->text);
  }
  return lines;
}

inline std::vector<nlohmann::json> golden_values(std::string_view name) {
  std::vector<nlohmann::json> values;
  for (const std::string& line : golden_lines(name)) values.push_back(nlohmann::json::parse(line));
  return values;
}

/// BERT's tokenizer of a vocabulary's text.
inline Result<SubwordTokenizer> bert_tokenizer(const std::string& vocabulary) {
  const TokenizerFiles files{{"vocab.txt", vocabulary},
                             {"config.json", R"({"model_type": "bert"})"}};
  return read_tokenizer_files(files, "").map(
      [](SubwordParts&& parts) { return SubwordTokenizer(std::move(parts)); });
}

/// [CLS] and both parts, as Hugging Face has them.
inline std::vector<std::int32_t> whole(const SubwordTokenizer& tokenizer, const TokenPair& pair) {
  std::vector<std::int32_t> ids{tokenizer.cls()};
  ids.insert(ids.end(), pair.query.begin(), pair.query.end());
  ids.insert(ids.end(), pair.document.begin(), pair.document.end());
  return ids;
}

inline std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    constexpr std::uint32_t polynomial = 0xEDB88320;
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      std::uint32_t sum = i;
      for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? polynomial : 0);
      made[i] = sum;
    }
    return made;
  }();
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes)
    sum = (sum >> 8U) ^ table[(sum ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~sum;
}

/// "A?b ? " of each of 4096 code points from the first but surrogates.
inline std::string around_code_points(std::uint32_t first) {
  std::string text;
  for (std::uint32_t c = first; c < first + 0x1000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    text += 'A';
    append_character(text, c);
    text += "b ";
    append_character(text, c);
    text += ' ';
  }
  return text;
}

}  // namespace attnscope::tests
