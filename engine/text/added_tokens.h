#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Finds tokens in a text before it is split into words: "[SEP]" written out, runs of spaces.
//
//   for (const AddedTokens::Part& part : added.cut("a[SEP]b")) ...   // "a", the id of [SEP], "b"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/piece_trie.h"

namespace attnscope {

struct AddedToken {
  std::string text{};
  std::int32_t id = 0;
  bool single_word = false;  // matches only without adjacent word characters
  bool lstrip = false;       // includes the white space before it
  bool rstrip = false;       // includes the white space after it
  bool normalized = false;   // is matched in the normalized text
  bool special = false;      // a text may be read with such tokens as plain text
  std::string found_by{};    // its text, normalized if matched in the normalized text
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// No two tokens have the same `found_by`.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Part {
    std::string_view text;
    std::int32_t id = -1;  // of a token; -1: text between tokens
  };
  /// The longest tokens from the left and the text between them, in order.
  [[nodiscard]] std::vector<Part> cut(std::string_view utf8) const;

 private:
  struct Match {
    const AddedToken* token;
    std::size_t end;
  };
  /// The longest token that starts at this position; null if there is none.
  [[nodiscard]] Match match_at(std::string_view utf8, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  PieceTrie trie_;  // values: indices of tokens
};

}  // namespace attnscope
