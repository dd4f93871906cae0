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

#include "engine/text/tokenizer.h"
#include "kernels/base/result.h"

namespace attnscope {

struct TokenizerModel;  // tokenizer_model.h

class WordPiece final : public Tokenizer {
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
  ~WordPiece() override;

  /// Pieces alone, no special tokens. Bytes that are no UTF-8 become U+FFFD, which is dropped.
  [[nodiscard]] std::vector<std::int32_t> tokenize(std::string_view utf8) const;
  [[nodiscard]] Result<TokenPair> encode(std::string_view query, std::string_view document,
                                         const PairLimits& limits) const override;
  [[nodiscard]] std::vector<std::int32_t> encode_document(std::string_view document,
                                                          std::int64_t most) const override;
  [[nodiscard]] std::uint64_t fingerprint() const override;
  [[nodiscard]] std::string_view token(std::int32_t id) const override;  // "##ing"
  [[nodiscard]] std::int64_t size() const override;
  [[nodiscard]] std::int32_t cls() const override;
  [[nodiscard]] std::int32_t sep() const;
  [[nodiscard]] std::int32_t unknown() const;

 private:
  struct Parts;
  explicit WordPiece(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace attnscope
