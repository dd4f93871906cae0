#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Splits texts into subword pieces, token for token as Hugging Face's `tokenizers`, for every
// tokenizer.json setting that re-rankers use: finds added tokens, normalizes the text between them
// and splits it into words, which the model (WordPiece, BPE, Unigram) splits into pieces; a
// template assembles pairs. Special tokens written out in a text ("[SEP]") are those tokens, as in
// `tokenizers`.
//
//   Result<SubwordTokenizer> pieces = SubwordTokenizer::open("ms-marco-MiniLM-L-6-v2");
//   Result<TokenPair> pair = pieces->encode("how tall is it", text, {.most_tokens = 512});

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/tokenizer.h"

namespace attnscope {

struct SubwordParts;     // subword_file.h
struct TokenizerExtras;  // tokenizer_folder.h

class SubwordTokenizer final : public Tokenizer {
 public:
  /// Opens the files of a checkpoint's folder (tokenizer_folder.h). Errors name the file and the
  /// problem: no vocabulary, a missing special token, an unknown part.
  [[nodiscard]] static Result<SubwordTokenizer> open(const std::filesystem::path& folder,
                                                     const TokenizerExtras& extras);
  [[nodiscard]] static Result<SubwordTokenizer> open(const std::filesystem::path& folder);
  explicit SubwordTokenizer(SubwordParts parts);
  SubwordTokenizer(SubwordTokenizer&&) noexcept;
  SubwordTokenizer& operator=(SubwordTokenizer&&) noexcept;
  ~SubwordTokenizer() override;

  /// The pieces without the template. Bytes that are not valid UTF-8 become U+FFFD. An error if an
  /// expression exceeds its limits on the text, or if no piece covers a word and there is no
  /// unknown piece.
  [[nodiscard]] Result<std::vector<std::int32_t>> tokenize(std::string_view text) const;
  /// The query's part ends with everything that the template puts between both texts. A pair that
  /// exceeds the limit is truncated as by transformers' 'longest_first': the longer text first, to
  /// at least half of the available length.
  [[nodiscard]] Result<TokenPair> encode(std::string_view query, std::string_view document,
                                         const PairLimits& limits) const override;
  [[nodiscard]] Result<TokenPair> encode_document(std::string_view document,
                                                  std::int64_t most) const override;
  [[nodiscard]] std::uint64_t fingerprint() const override;
  /// "##ing" for WordPiece; for other models the text itself, with its leading space and "\x80" for
  /// bytes that are not a character.
  [[nodiscard]] std::string_view token(std::int32_t id) const override;
  [[nodiscard]] std::int64_t size() const override;
  [[nodiscard]] std::int64_t table_rows() const override;
  [[nodiscard]] std::int32_t cls() const override;
  [[nodiscard]] std::int32_t sep() const;            // at the end of a document
  [[nodiscard]] std::int32_t document_type() const;  // token type; the query's is 0
  /// The parts read from its files.
  [[nodiscard]] const SubwordParts& parts() const { return *parts_; }

  /// Truncates on the side that the files specify; returns whether anything was removed.
  bool cut(std::vector<std::int32_t>& ids, std::int64_t most) const;
  /// An error if the limit is that of positions and the ids contain a token that takes no position.
  [[nodiscard]] Status may_be_cut(const std::vector<std::int32_t>& ids,
                                  std::int32_t without_position, std::int64_t most) const;

 private:
  /// Truncates both texts to `room` tokens in total.
  [[nodiscard]] Status cut_longest_first(TokenPair& pair, std::int64_t room) const;
  [[nodiscard]] std::int64_t special_tokens() const;  // of a pair
  [[nodiscard]] Status append(std::string_view text, bool starts,
                              std::vector<std::int32_t>& ids) const;
  std::unique_ptr<const SubwordParts> parts_;
};

}  // namespace attnscope
