#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of re-rankers over word vectors: words in lower case, looked up in a list
// (tokens.txt, as AllenNLP writes it: a word a line, the first line @@UNKNOWN@@, which is id 1; id
// 0 is padding and not listed).
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

/// Words in the order of the text, in lower case: Unicode's word boundaries, punctuation apart, and
/// of English words what an apostrophe joins ("do n't", "it 's"), as the word lists that GloVe
/// comes with have them. Bytes that are no UTF-8 are U+FFFD.
[[nodiscard]] std::vector<std::string> words_of_text(std::string_view utf8);

class WordList final : public Tokenizer {
 public:
  static constexpr const char* file = "tokens.txt";

  /// Errors name the file, and the line where there is one: no list, another first line, one that
  /// is empty, no UTF-8 or has blanks around its word, a word twice, words in upper case alone,
  /// more words than any model has.
  [[nodiscard]] static Result<WordList> open(const std::filesystem::path& folder);
  [[nodiscard]] static Result<WordList> parse(std::string_view list, std::string_view source);
  WordList(WordList&&) noexcept;
  WordList& operator=(WordList&&) noexcept;
  ~WordList() override;

  /// Each text is cut by its own limit, 0: none; most_tokens is not looked at. An error where the
  /// query has no words.
  [[nodiscard]] Result<TokenPair> encode(std::string_view query, std::string_view document,
                                         const PairLimits& limits) const override;
  [[nodiscard]] Result<TokenPair> encode_document(std::string_view document,
                                                  std::int64_t most) const override;
  [[nodiscard]] std::uint64_t fingerprint() const override;
  [[nodiscard]] std::string_view token(std::int32_t id) const override;
  [[nodiscard]] std::int64_t size() const override;  // padding and the unknown word among them
  [[nodiscard]] std::int32_t cls() const override { return 0; }

 private:
  struct Parts;
  explicit WordList(std::unique_ptr<Parts> parts);
  [[nodiscard]] std::vector<std::int32_t> tokenize(std::string_view utf8) const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attnscope
