#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What pieces a word is made of, as the `model` of a tokenizer.json says: WordPiece, BPE, Unigram,
// WordLevel.
//
//   std::vector<std::int32_t> ids;
//   model->append("unaffable", ids);   // of "un", "##aff", "##able"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/vocabulary.h"

namespace attnscope {

class JsonField;
class PreTokenizer;
class RunningSum;

/// Stands for a stretch that is in no piece, where the model has no unknown one.
inline constexpr std::int32_t no_piece = -2;

class SubwordModel {
 public:
  SubwordModel() = default;
  SubwordModel(const SubwordModel&) = delete;
  SubwordModel& operator=(const SubwordModel&) = delete;
  virtual ~SubwordModel() = default;

  /// The word is not empty, and UTF-8 but for a model of bytes.
  virtual void append(std::string_view word, std::vector<std::int32_t>& ids) const = 0;
  /// All that decides of the pieces but the vocabulary.
  virtual void add_to(RunningSum& sum) const = 0;
};

/// The longest pieces from the left; a word with a stretch that is in no piece is unknown.
struct WordPieceRules {
  std::string unknown = "[UNK]";
  std::string continuing_prefix = "##";
  std::int64_t most_characters = 100;  // of a word; longer ones are unknown
};
[[nodiscard]] std::unique_ptr<const SubwordModel> word_piece(const WordPieceRules& rules,
                                                             const Vocabulary& vocabulary);

/// Of a `model` and its vocabulary, which is read before. What would make other pieces and is not
/// known is a problem of its field.
[[nodiscard]] std::unique_ptr<const SubwordModel> read_word_piece(const JsonField& said,
                                                                  const Vocabulary& vocabulary);
/// Byte-pair encoding: the pair of the lowest rank is merged until none is left. Of bytes where
/// `words` gives them and the model can take them, of characters otherwise.
[[nodiscard]] std::unique_ptr<const SubwordModel> read_byte_pairs(const JsonField& said,
                                                                  const Vocabulary& vocabulary,
                                                                  PreTokenizer& words);
/// The pieces of the highest sum of scores. Its vocabulary is a list of pieces with scores.
[[nodiscard]] std::unique_ptr<const SubwordModel> read_unigram(const JsonField& said,
                                                               const Vocabulary& vocabulary);
/// Words that are pieces as they are; others are unknown.
[[nodiscard]] std::unique_ptr<const SubwordModel> read_word_level(const JsonField& said,
                                                                  const Vocabulary& vocabulary);

/// A character for each byte, those that a byte-level vocabulary has.
[[nodiscard]] std::string spelled_bytes(std::string_view bytes);
/// The bytes that the characters of a piece stand for in a byte-level vocabulary: those that can be
/// seen for themselves, U+0100 and what follows for the others. "" of a piece of other characters.
[[nodiscard]] std::string bytes_of_piece(std::string_view piece);

}  // namespace attnscope
