#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of re-rankers over word vectors: lower-cased words, looked up in a list (tokens.txt
// in AllenNLP's format: one word per line, the first line @@UNKNOWN@@ with id 1; id 0 is padding
// and not listed).
//
//   Result<WordList> words = WordList::open("tkl");
//   words->encode("how tall is it?", text, {.most_query_tokens = 30, .most_document_tokens =
//   2000});

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace attnscope {

/// The words of a text in order, lower-cased: split at Unicode word boundaries, without
/// punctuation, and English words split at an apostrophe ("do n't", "it 's"), as in the word lists
/// of GloVe. Bytes that are not valid UTF-8 become U+FFFD.
[[nodiscard]] std::vector<std::string> words_of_text(std::string_view utf8);

class WordList final : public Tokenizer {
 public:
  static constexpr const char* file = "tokens.txt";

  /// Errors name the file, and the line if there is one: no list, another first line, a line that
  /// is empty, not valid UTF-8 or has blanks around its word, a duplicate word, only upper-case
  /// words, more words than any model has.
  [[nodiscard]] static Result<WordList> open(const std::filesystem::path& folder);
  [[nodiscard]] static Result<WordList> parse(std::string_view list, std::string_view source);
  WordList(WordList&&) noexcept;
  WordList& operator=(WordList&&) noexcept;
  ~WordList() override;

  /// Truncates each text to its own limit, 0: none; most_tokens is ignored. An error if the query
  /// has no words.
  [[nodiscard]] Result<TokenPair> encode(std::string_view query, std::string_view document,
                                         const PairLimits& limits) const override;
  [[nodiscard]] Result<TokenPair> encode_document(std::string_view document,
                                                  std::int64_t most) const override;
  [[nodiscard]] std::uint64_t fingerprint() const override;
  [[nodiscard]] std::string_view token(std::int32_t id) const override;
  [[nodiscard]] std::int64_t size() const override;  // including padding and the unknown word
  [[nodiscard]] std::int32_t cls() const override { return 0; }

 private:
  struct Parts;
  explicit WordList(std::unique_ptr<Parts> parts);
  [[nodiscard]] std::vector<std::int32_t> tokenize(std::string_view utf8) const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attnscope
