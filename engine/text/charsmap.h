#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SentencePiece's normalization table (nmt_nfkc and others), as stored in tokenizer.json: base64 of
// the size of a trie, the trie (darts-clone's units) and its replacements.
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

#include "base/result.h"

namespace attnscope {

class Charsmap {
 public:
  [[nodiscard]] static Result<Charsmap> read(std::string_view base64);

  /// Applies the table as Hugging Face does: a grapheme of fewer than six bytes is looked up as a
  /// whole, and the replacement of a prefix replaces all of it; otherwise character by character.
  void apply(std::string& utf8) const;
  /// Length of the longest replacement in bytes.
  [[nodiscard]] std::size_t longest() const;

 private:
  /// The replacement of the shortest prefix in the table.
  [[nodiscard]] std::optional<std::string_view> replacement(std::string_view text) const;
  /// Appends the replacement of a grapheme.
  void append(std::string_view grapheme, std::string& to) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> stays_{};  // ASCII characters without a replacement
};

}  // namespace attnscope
