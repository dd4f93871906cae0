#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Texts to token ids, whatever a model's tokens are: pieces of words (subword_tokenizer.h) or words
// (word_list.h).
//
//   Result<TokenPair> pair = tokenizer.encode("how tall is it", text, {.most_tokens = 512});

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

struct PairLimits {
  /// Of the pair, [CLS] and both [SEP] among them; of words, of the document, 0: no limit.
  std::int64_t most_tokens = 512;
  std::int64_t most_query_tokens = 0;  // with its [SEP]; 0: no limit of its own
  /// Of models that read both texts apart, each beside something of its own: most_tokens is then of
  /// each text, and this is the document's limit with its [SEP]. 0: it has what the query leaves.
  std::int64_t most_document_tokens = 0;
  /// Of models that read both together: the document's own limit with its [SEP] beside that of the
  /// pair; 0: none.
  std::int64_t most_tokens_of_document = 0;
  /// A token that takes no position, where the limit is that of positions: a pair with it is not
  /// cut, since transformers cuts it elsewhere. -1: none.
  std::int32_t without_position = -1;
};

/// Ids of a pair as PairBatch takes them: of pieces each part with its [SEP] and without [CLS], of
/// words these alone.
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

  /// An error when a limit leaves no room for the texts, or when a query has nothing to be scored
  /// by.
  [[nodiscard]] virtual Result<TokenPair> encode(std::string_view query, std::string_view document,
                                                 const PairLimits& limits) const = 0;
  /// A pair's document by itself, cut to so many ids.
  [[nodiscard]] virtual Result<TokenPair> encode_document(std::string_view document,
                                                          std::int64_t most) const = 0;
  /// Of all that decides of the tokens of a text.
  [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;
  [[nodiscard]] virtual std::string_view token(std::int32_t id) const = 0;  // "" out of range
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Rows of embeddings that its tokens need, but for those that only special tokens would take.
  [[nodiscard]] virtual std::int64_t table_rows() const { return size(); }
  /// [CLS]; 0 where there is none.
  [[nodiscard]] virtual std::int32_t cls() const = 0;
};

}  // namespace attnscope
