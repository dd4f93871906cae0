#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tokenizes texts for late-interaction encoders in the style of ColBERT: queries and documents
// separately, with a marker after [CLS] that distinguishes them; queries are expanded with [MASK]
// to a fixed length (Khattab and Zaharia, SIGIR 2020, Sec. 3.2).
//
//   [CLS] [Q] how tall is it [SEP] [MASK] [MASK] ...        [CLS] [D] it is a tower [SEP]
//
//   auto tokenizer = MultiVectorTokenizer::open("colbertv2.0", {}, texts);
//   Result<TokenPair> document = tokenizer->encode_document(text, 179);

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/subword_tokenizer.h"
#include "engine/text/tokenizer.h"

namespace attnscope {

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
