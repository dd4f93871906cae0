#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Texts to pieces of words, token for token as Hugging Face's `tokenizers`, whatever its
// tokenizer.json asks for of what re-rankers have: added tokens are found, the text between them is
// normalized and cut into words, which the model (WordPiece, BPE, Unigram) makes pieces of; a
// template puts pairs together. Special tokens written out in a text ("[SEP]") are those tokens, as
// there.
//
//   Result<SubwordTokenizer> pieces = SubwordTokenizer::open("ms-marco-MiniLM-L-6-v2");
//   Result<TokenPair> pair = pieces->encode("how tall is it", text, {.most_tokens = 512});

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"
#include "kernels/base/result.h"

namespace attnscope {

struct SubwordParts;     // subword_file.h
struct TokenizerExtras;  // tokenizer_folder.h

class SubwordTokenizer final : public Tokenizer {
 public:
  /// From the files of a checkpoint's folder (tokenizer_folder.h). Errors name the file and what is
  /// wrong with it: no vocabulary, a special token missing, a part that is not known.
  [[nodiscard]] static Result<SubwordTokenizer> open(const std::filesystem::path& folder,
                                                     const TokenizerExtras& extras);
  [[nodiscard]] static Result<SubwordTokenizer> open(const std::filesystem::path& folder);
  explicit SubwordTokenizer(SubwordParts parts);
  SubwordTokenizer(SubwordTokenizer&&) noexcept;
  SubwordTokenizer& operator=(SubwordTokenizer&&) noexcept;
  ~SubwordTokenizer() override;

  /// Pieces alone, nothing of the template. Bytes that are no UTF-8 become U+FFFD. An error where
  /// an expression does not get through the text, or a word is in no piece and none is unknown.
  [[nodiscard]] Result<std::vector<std::int32_t>> tokenize(std::string_view text) const;
  /// The query's part ends in all that the template has between both texts. A pair that is longer
  /// than the limit is cut as transformers' 'longest_first' does: the longer text first, to half of
  /// the room at least.
  [[nodiscard]] Result<TokenPair> encode(std::string_view query, std::string_view document,
                                         const PairLimits& limits) const override;
  [[nodiscard]] Result<TokenPair> encode_document(std::string_view document,
                                                  std::int64_t most) const override;
  [[nodiscard]] std::uint64_t fingerprint() const override;
  /// "##ing" of WordPiece; of the others the text itself, with the space that it begins with and
  /// "\x80" for bytes that are no character.
  [[nodiscard]] std::string_view token(std::int32_t id) const override;
  [[nodiscard]] std::int64_t size() const override;
  [[nodiscard]] std::int64_t table_rows() const override;
  [[nodiscard]] std::int32_t cls() const override;
  [[nodiscard]] std::int32_t sep() const;            // behind a document
  [[nodiscard]] std::int32_t document_type() const;  // token type; the query's is 0
  /// What its files decided.
  [[nodiscard]] const SubwordParts& parts() const { return *parts_; }

  /// Cuts the side that the files name; whether there was something to cut.
  bool cut(std::vector<std::int32_t>& ids, std::int64_t most) const;
  /// Not where the limit is that of positions, and a token is among them that takes none.
  [[nodiscard]] Status may_be_cut(const std::vector<std::int32_t>& ids,
                                  std::int32_t without_position, std::int64_t most) const;

 private:
  /// Cuts both texts to `room` tokens together.
  [[nodiscard]] Status cut_longest_first(TokenPair& pair, std::int64_t room) const;
  [[nodiscard]] std::int64_t special_tokens() const;  // of a pair
  [[nodiscard]] Status append(std::string_view text, bool starts,
                              std::vector<std::int32_t>& ids) const;
  std::unique_ptr<const SubwordParts> parts_;
};

}  // namespace attnscope
