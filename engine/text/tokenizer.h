#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Converts texts to token ids: subword pieces (subword_tokenizer.h) or words (word_list.h).
//
//   Result<TokenPair> pair = tokenizer.encode("how tall is it", text, {.most_tokens = 512});

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attnscope {

struct PairLimits {
  /// Limit of the pair, including [CLS] and both [SEP]; for words, of the document, 0: no limit.
  std::int64_t most_tokens = 512;
  std::int64_t most_query_tokens = 0;  // with its [SEP]; 0: no separate limit
  /// For models that encode both texts separately with their own special tokens: most_tokens then
  /// limits each text, and this is the document's limit with its [SEP]. 0: what the query leaves.
  std::int64_t most_document_tokens = 0;
  /// For models that read both texts together: the document's own limit with its [SEP], in addition
  /// to that of the pair; 0: none.
  std::int64_t most_tokens_of_document = 0;
  /// A token that takes no position, if the limit is that of positions: a pair that contains it is
  /// not truncated, since transformers truncates it at another place. -1: none.
  std::int32_t without_position = -1;
};

/// Ids of a pair as in PairBatch: for pieces, each part with its [SEP] and without [CLS]; for
/// words, only the words.
struct TokenPair {
  std::vector<std::int32_t> query, document;
  bool document_cut = false, query_cut = false;
};

class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  Tokenizer(Tokenizer&&) noexcept = default;
  Tokenizer& operator=(Tokenizer&&) noexcept = default;
  virtual ~Tokenizer() = default;

  /// An error if a limit leaves no room for the texts, or if a query has no tokens to score.
  [[nodiscard]] virtual Result<TokenPair> encode(std::string_view query, std::string_view document,
                                                 const PairLimits& limits) const = 0;
  /// A pair's document alone, truncated to `most` ids.
  [[nodiscard]] virtual Result<TokenPair> encode_document(std::string_view document,
                                                          std::int64_t most) const = 0;
  /// Hash of all settings that affect the tokens of a text.
  [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;
  [[nodiscard]] virtual std::string_view token(std::int32_t id) const = 0;  // "" out of range
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Embedding rows that its tokens need, except those that only special tokens use.
  [[nodiscard]] virtual std::int64_t table_rows() const { return size(); }
  /// [CLS]; 0 if there is none.
  [[nodiscard]] virtual std::int32_t cls() const = 0;
};

}  // namespace attnscope
