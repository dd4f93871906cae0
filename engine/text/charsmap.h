#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SentencePiece's own table of normalizations (nmt_nfkc and the like), as tokenizer.json carries
// it: base64 of the size of a trie, the trie (darts-clone's units) and its replacements.
//
//   Result<Charsmap> map = Charsmap::read(precompiled_charsmap);
//   map->apply(text);   // "ﬁ ½" becomes "fi 1/2"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

class Charsmap {
 public:
  [[nodiscard]] static Result<Charsmap> read(std::string_view base64);

  /// As Hugging Face applies it: a grapheme of fewer than six bytes is looked up whole, and what
  /// is found of its beginning stands for all of it; else character by character.
  void apply(std::string& utf8) const;
  /// The longest replacement's bytes.
  [[nodiscard]] std::size_t longest() const;

 private:
  /// Of the shortest beginning that the table has.
  [[nodiscard]] std::optional<std::string_view> replacement(std::string_view text) const;
  /// Appends what a grapheme becomes.
  void append(std::string_view grapheme, std::string& to) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> stays_{};  // characters of ASCII that nothing replaces
};

}  // namespace attnscope
