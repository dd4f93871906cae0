#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer that transformers' AutoTokenizer (5.x) makes of a checkpoint's folder: which class
// it takes, what that class keeps of tokenizer.json or of the vocabulary files, and what
// tokenizer_config.json, special_tokens_map.json and added_tokens.json change.
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

#include "engine/text/subword_file.h"
#include "kernels/base/result.h"

namespace attnscope {

/// What sentence-transformers' files add to a tokenizer.
struct TokenizerExtras {
  bool lower_case = false;             // texts are lower-cased before they are normalized
  std::string prompt{};                // precedes every query
  std::int64_t max_tokens = 0;         // limit of a pair that replaces the tokenizer's own; 0: none
  bool is_padded = false;              // a pair by itself is padded, too
  std::vector<std::string> markers{};  // tokens that are found in texts, too; each has to exist
  std::string arguments{};  // JSON: fields that replace those of tokenizer_config.json; empty: none
};

/// Files of a folder that decide about its tokenizer.
inline constexpr std::array tokenizer_files{"tokenizer.json",
                                            "vocab.txt",
                                            "vocab.json",
                                            "merges.txt",
                                            "tokenizer_config.json",
                                            "special_tokens_map.json",
                                            "added_tokens.json"};
/// Texts of those that are there by their names, and of config.json.
using TokenizerFiles = std::map<std::string, std::string, std::less<>>;

/// What a field of tokenizer_config.json does.
enum class FieldEffect : std::uint8_t { read, none, refused };
struct TokenizerField {
  std::string_view name, effect;
  FieldEffect kind = FieldEffect::read;
};
/// All fields that transformers knows, in the order of the documentation.
[[nodiscard]] std::span<const TokenizerField> tokenizer_fields();

/// `folder` names the files in messages. Errors name the file and the field: a vocabulary that is
/// missing, a class or a field whose tokens are not computed here, a special token that has no
/// piece.
[[nodiscard]] Result<SubwordParts> read_tokenizer_files(const TokenizerFiles& files,
                                                        const std::filesystem::path& folder,
                                                        const TokenizerExtras& extras = {});
[[nodiscard]] Result<SubwordParts> read_tokenizer_folder(const std::filesystem::path& folder,
                                                         const TokenizerExtras& extras = {});

}  // namespace attnscope
