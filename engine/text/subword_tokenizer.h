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
//
// MultiVectorTokenizer tokenizes texts for late-interaction encoders in the style of ColBERT:
// queries and documents separately, with a marker after [CLS] that distinguishes them; queries are
// expanded with [MASK] to a fixed length (Khattab and Zaharia, SIGIR 2020, Sec. 3.2).
//
//   [CLS] [Q] how tall is it [SEP] [MASK] [MASK] ...        [CLS] [D] it is a tower [SEP]
//
//   auto tokenizer = MultiVectorTokenizer::open("colbertv2.0", {}, texts);
//   Result<TokenPair> document = tokenizer->encode_document(text, 179);

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
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

/// The library whose rules apply to a checkpoint's files.
enum class MultiVectorForm : std::uint8_t { stanford, pylate, sentence_transformers };
[[nodiscard]] std::string_view name_of(
    MultiVectorForm form);  // "Stanford's ColBERT", "PyLate", ...

/// Settings for texts in a checkpoint's files.
struct MultiVectorTexts {
  MultiVectorForm form = MultiVectorForm::stanford;
  struct Side {
    std::string marker{};     // a token of the vocabulary after [CLS]; empty: none
    std::string prompt{};     // precedes the text
    std::int64_t length = 0;  // most tokens with [CLS], marker and [SEP]; 0: the encoder's
  };
  Side query, document;
  std::int64_t expansion_length = 0;  // queries are expanded to this number of tokens; 0: never
  bool cuts_to_expansion = true;      // false: longer queries are not truncated
  std::string expansion_token{};      // empty: [MASK], or the end token without [MASK]
  std::vector<std::string> skipped_words{};  // words whose tokens have no vectors
  bool skips_unknown = false;  // a word without a piece skips [UNK]; else it is ignored
  bool strips = false;         // strips white space at both ends of a text
  bool lower_case = false;     // lower-cases texts before special tokens are matched
};

/// Ids that determine which tokens have vectors.
struct MultiVectorIds {
  std::int32_t separator = 0;           // the last token before the expansion
  std::vector<std::int32_t> skipped{};  // ascending
};

class MultiVectorTokenizer final : public Tokenizer {
 public:
  /// Errors: those of SubwordTokenizer::open, a marker that is not a token, a tokenizer without a
  /// token for query expansion.
  [[nodiscard]] static Result<MultiVectorTokenizer> open(const std::filesystem::path& folder,
                                                         const TokenizerExtras& extras,
                                                         const MultiVectorTexts& texts);

  /// Both parts without [CLS]. The limits most_query_tokens and most_document_tokens apply, each
  /// without [CLS]; a query is truncated before it is expanded.
  [[nodiscard]] Result<TokenPair> encode(std::string_view query, std::string_view document,
                                         const PairLimits& limits) const override;
  [[nodiscard]] Result<TokenPair> encode_document(std::string_view document,
                                                  std::int64_t most) const override;
  [[nodiscard]] std::uint64_t fingerprint() const override { return fingerprint_; }
  [[nodiscard]] std::string_view token(std::int32_t id) const override { return pieces_.token(id); }
  [[nodiscard]] std::int64_t size() const override { return pieces_.size(); }
  [[nodiscard]] std::int64_t table_rows() const override { return pieces_.table_rows(); }
  [[nodiscard]] std::int32_t cls() const override { return pieces_.cls(); }

  [[nodiscard]] const SubwordTokenizer& pieces() const { return pieces_; }
  [[nodiscard]] const MultiVectorTexts& texts() const { return texts_; }
  [[nodiscard]] const MultiVectorIds& ids() const { return ids_; }

  /// A text with this token, which takes no position, is an error instead of being truncated; -1:
  /// no such token.
  void keep_whole_with(std::int32_t without_position) { without_position_ = without_position; }

 private:
  MultiVectorTokenizer(SubwordTokenizer pieces, const MultiVectorTexts& texts)
      : pieces_(std::move(pieces)), texts_(texts) {}
  [[nodiscard]] Status find_ids(const std::filesystem::path& folder);
  [[nodiscard]] std::string prepared(std::string_view text, const std::string& prompt) const;
  /// Appends marker, prompt and text with its [SEP], at most `most` tokens; returns whether the
  /// text was truncated.
  [[nodiscard]] Result<bool> append(std::string_view text, const MultiVectorTexts::Side& side,
                                    std::int64_t most, std::vector<std::int32_t>& ids) const;

  SubwordTokenizer pieces_;
  MultiVectorTexts texts_;
  MultiVectorIds ids_;
  std::int32_t expansion_ = -1;
  std::int32_t without_position_ = -1;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace attnscope
