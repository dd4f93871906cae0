#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// BERT's uncased WordPiece tokenizer, token for token as Hugging Face's: cleaning, CJK characters
// apart, lower case, accents stripped, punctuation apart, then the longest pieces of the
// vocabulary. Special tokens written out in a text ("[SEP]") are those tokens, as there.
//
//   Result<WordPiece> pieces = WordPiece::open("ms-marco-MiniLM-L-6-v2");
//   Result<TokenPair> pair = pieces->encode("how tall is it", text, {.most_tokens = 512});

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

struct TokenizerModel;  // tokenizer_model.h

struct PairLimits {
  std::int64_t most_tokens = 512;      // of the pair, [CLS] and both [SEP] among them
  std::int64_t most_query_tokens = 0;  // with its [SEP]; 0: no limit of its own
  /// Of models that read both texts apart, each beside something of its own: most_tokens is then of
  /// each text, and this is the document's limit with its [SEP]. 0: it has what the query leaves.
  std::int64_t most_document_tokens = 0;
};

/// Ids of a pair, each part with its [SEP] and without [CLS], as PairBatch takes them.
struct TokenPair {
  std::vector<std::int32_t> query, document;
  bool document_cut = false, query_cut = false;
};

class WordPiece {
 public:
  /// From tokenizer.json, or else vocab.txt and tokenizer_config.json. Errors name the file and
  /// what is wrong with it: no vocabulary, a special token missing, a tokenizer.json of another
  /// kind (BPE, another normaliser), a piece twice.
  [[nodiscard]] static Result<WordPiece> open(const std::filesystem::path& folder);
  /// From a vocabulary's text, one piece a line; `source` names it in messages.
  [[nodiscard]] static Result<WordPiece> parse(std::string_view vocabulary,
                                               std::string_view source);
  /// From what its files say; an error when a special token is missing.
  [[nodiscard]] static Result<WordPiece> of(TokenizerModel model, std::string_view source);
  WordPiece(WordPiece&&) noexcept;
  WordPiece& operator=(WordPiece&&) noexcept;
  ~WordPiece();

  /// Pieces alone, no special tokens. Bytes that are no UTF-8 become U+FFFD, which is dropped.
  [[nodiscard]] std::vector<std::int32_t> tokenize(std::string_view utf8) const;
  /// Cuts the document's end off, never the query's but by its own limit. An error when the query
  /// leaves no room for a document.
  [[nodiscard]] Result<TokenPair> encode(std::string_view query, std::string_view document,
                                         const PairLimits& limits) const;
  /// A document by itself with its [SEP], cut to so many ids.
  [[nodiscard]] std::vector<std::int32_t> encode_document(std::string_view document,
                                                          std::int64_t most) const;
  /// Of all that decides of the tokens of a text.
  [[nodiscard]] std::uint64_t fingerprint() const;
  [[nodiscard]] std::string_view token(std::int32_t id) const;  // "##ing"; ids out of range: ""
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::int32_t cls() const;
  [[nodiscard]] std::int32_t sep() const;
  [[nodiscard]] std::int32_t unknown() const;

 private:
  struct Parts;
  explicit WordPiece(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace attnscope
