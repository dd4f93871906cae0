#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Splits a word into pieces, as the `model` of a tokenizer.json specifies: WordPiece, BPE, Unigram,
// WordLevel.
//
//   std::vector<std::int32_t> ids;
//   model->append("unaffable", ids);   // of "un", "##aff", "##able"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/text/vocabulary.h"

namespace attnscope {

class JsonField;
class PreTokenizer;
class RunningSum;

/// Marks a part that no piece covers, if the model has no unknown piece.
inline constexpr std::int32_t no_piece = -2;

class SubwordModel {
 public:
  SubwordModel() = default;
  SubwordModel(const SubwordModel&) = delete;
  SubwordModel& operator=(const SubwordModel&) = delete;
  virtual ~SubwordModel() = default;

  /// `word` is not empty, and is UTF-8 except for a byte-level model.
  virtual void append(std::string_view word, std::vector<std::int32_t>& ids) const = 0;
  /// Adds all settings that affect the pieces, except the vocabulary.
  virtual void add_to(RunningSum& sum) const = 0;
};

/// Reads a `model` with its vocabulary, which is read before. An unknown setting that would change
/// the pieces is an error of its field.
[[nodiscard]] std::unique_ptr<const SubwordModel> read_word_piece(const JsonField& object,
                                                                  const Vocabulary& vocabulary);
/// Byte-pair encoding: merges the pair with the lowest rank until none is left. On bytes if `words`
/// outputs bytes and the model supports them, otherwise on characters.
[[nodiscard]] std::unique_ptr<const SubwordModel> read_byte_pairs(const JsonField& object,
                                                                  const Vocabulary& vocabulary,
                                                                  PreTokenizer& words);
/// The segmentation with the highest sum of scores. The vocabulary is a list of pieces with scores.
[[nodiscard]] std::unique_ptr<const SubwordModel> read_unigram(const JsonField& object,
                                                               const Vocabulary& vocabulary);
/// Words that are pieces themselves; other words are unknown.
[[nodiscard]] std::unique_ptr<const SubwordModel> read_word_level(const JsonField& object,
                                                                  const Vocabulary& vocabulary);

}  // namespace attnscope
