#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tokens that are found in a text before it is cut into words: "[SEP]" written out, runs of spaces.
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
  bool single_word = false;  // no word's character stands beside it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool normalized = false;   // is looked for in the normalized text
  bool special = false;      // a text may be read with such tokens as plain text
  std::string found_by{};    // its text, normalized where that is looked for
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// No two are found by the same text.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Part {
    std::string_view text;
    std::int32_t id = -1;  // of a token; -1: text between them
  };
  /// The longest tokens from the left and what stands between, in order.
  [[nodiscard]] std::vector<Part> cut(std::string_view utf8) const;

 private:
  struct Match {
    const AddedToken* token;
    std::size_t end;
  };
  /// The longest token that stands at this place; null where none does.
  [[nodiscard]] Match match_at(std::string_view utf8, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  PieceTrie trie_;  // their places
};

}  // namespace attnscope
