#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer that transformers' AutoTokenizer (5.x) creates from a checkpoint's folder: the
// class it selects, what that class uses from tokenizer.json or the vocabulary files, and the
// changes from tokenizer_config.json, special_tokens_map.json and added_tokens.json.
//
//   Result<SubwordParts> parts = read_tokenizer_folder("ms-marco-MiniLM-L-6-v2");

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/subword_file.h"

namespace attnscope {

/// Settings from sentence-transformers' files that extend a tokenizer.
struct TokenizerExtras {
  bool lower_case = false;             // texts are lower-cased before they are normalized
  std::string prompt{};                // precedes every query
  std::int64_t max_tokens = 0;         // limit of a pair that replaces the tokenizer's own; 0: none
  bool is_padded = false;              // a single pair is also padded
  std::vector<std::string> markers{};  // further tokens to match in texts; each must exist
  std::string arguments{};  // JSON: fields that replace those of tokenizer_config.json; empty: none
};

/// Files of a folder that affect its tokenizer.
inline constexpr std::array tokenizer_files{"tokenizer.json",
                                            "vocab.txt",
                                            "vocab.json",
                                            "merges.txt",
                                            "tokenizer_config.json",
                                            "special_tokens_map.json",
                                            "added_tokens.json"};
/// Texts of those that are there by their names, and of config.json.
using TokenizerFiles = std::map<std::string, std::string, std::less<>>;

/// The effect of a field of tokenizer_config.json.
enum class FieldEffect : std::uint8_t { read, none, refused };
struct TokenizerField {
  std::string_view name, effect;
  FieldEffect kind = FieldEffect::read;
};
/// All fields known to transformers, in the order of the documentation.
[[nodiscard]] std::span<const TokenizerField> tokenizer_fields();

/// `folder` names the files in messages. Errors name the file and the field: a missing vocabulary,
/// a class or a field whose tokens are not supported, a special token without a piece.
[[nodiscard]] Result<SubwordParts> read_tokenizer_files(const TokenizerFiles& files,
                                                        const std::filesystem::path& folder,
                                                        const TokenizerExtras& extras = {});
[[nodiscard]] Result<SubwordParts> read_tokenizer_folder(const std::filesystem::path& folder,
                                                         const TokenizerExtras& extras = {});

}  // namespace attnscope
