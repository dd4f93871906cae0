#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pieces of single bytes, "<0x0A>", for text that no other piece contains.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/text/piece_trie.h"

namespace attnscope {

class ByteFallback {
 public:
  explicit ByteFallback(const PieceTrie& pieces) {
    for (std::size_t byte = 0; byte < ids_.size(); ++byte)
      ids_[byte] = pieces.find(fmt::format("<0x{:02X}>", byte));
  }
  /// -1: the byte has no piece.
  [[nodiscard]] std::int32_t id(char byte) const { return ids_[static_cast<unsigned char>(byte)]; }
  /// Whether every byte has a piece.
  [[nodiscard]] bool has_all(std::string_view bytes) const {
    return std::ranges::all_of(bytes, [this](char byte) { return id(byte) >= 0; });
  }

 private:
  std::array<std::int32_t, 0x100> ids_{};
};

}  // namespace attnscope
