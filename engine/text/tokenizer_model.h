#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the files of a WordPiece tokenizer say: its pieces with their ids, and its rules.

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/basic_text.h"
#include "kernels/base/result.h"

namespace attnscope {

/// Ids are dense but for gaps, whose text is empty and which no word falls into.
class Vocabulary {
 public:
  static constexpr std::int64_t most_pieces = 4'000'000;

  /// False when the piece has an id or the id a piece already. Ids lie below most_pieces.
  [[nodiscard]] bool add(std::string piece, std::int32_t id);
  /// -1: there is none.
  [[nodiscard]] std::int32_t id(std::string_view piece) const;
  [[nodiscard]] std::string_view piece(std::int32_t id) const;  // "" where there is none
  [[nodiscard]] std::int64_t size() const;                      // the largest id and one
  [[nodiscard]] std::size_t longest_piece() const { return longest_piece_; }  // bytes

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::vector<std::string> pieces_;
  std::size_t longest_piece_ = 0;
};

/// Everything a tokenizer's files say.
struct TokenizerModel {
  Vocabulary vocabulary;
  TextRules rules;
  std::string unknown_piece = "[UNK]";
  std::string continuing_prefix = "##";
  std::int64_t most_characters = 100;  // of a word; longer ones are unknown
  /// Found in the raw text before anything else, as Hugging Face's tokenizers do.
  struct AddedToken {
    std::string text;
    std::int32_t id = 0;
  };
  std::vector<AddedToken> added;
};

/// One piece a line; what stands behind it is trimmed.
[[nodiscard]] Result<Vocabulary> read_vocabulary(std::string_view text, std::string_view source);

/// [PAD], [UNK], [CLS], [SEP], [MASK], as far as the vocabulary has them.
[[nodiscard]] std::vector<TokenizerModel::AddedToken> special_tokens(const Vocabulary& vocabulary);

/// tokenizer.json of the kind that BERT's has; everything in it that would make other tokens is an
/// error.
[[nodiscard]] Result<TokenizerModel> read_tokenizer_json(std::string_view text,
                                                         std::string_view source);

inline constexpr std::array tokenizer_files{"tokenizer.json", "vocab.txt", "tokenizer_config.json"};

/// tokenizer.json of a folder, or else its vocab.txt and what tokenizer_config.json says of it.
[[nodiscard]] Result<TokenizerModel> read_tokenizer_folder(const std::filesystem::path& folder);

}  // namespace attnscope
