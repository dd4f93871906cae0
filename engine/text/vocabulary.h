#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pieces or words with their ids, as a file of them says, a line each or with ids of its own.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

/// Ids are dense but for gaps, whose text is empty and which no word falls into.
class Vocabulary {
 public:
  static constexpr std::int64_t most_pieces = 4'000'000;

  /// False when the piece has an id or the id a piece already. Ids lie below most_pieces.
  [[nodiscard]] bool add(std::string piece, std::int32_t id);
  /// -1: there is none.
  [[nodiscard]] std::int32_t id(std::string_view piece) const;
  [[nodiscard]] std::string_view piece(std::int32_t id) const;  // "" where there is none
  [[nodiscard]] std::int64_t size() const;                      // the largest id and one

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::vector<std::string> pieces_;
};

/// One piece a line; what stands behind it is trimmed.
[[nodiscard]] Result<Vocabulary> read_vocabulary(std::string_view text, std::string_view source);

}  // namespace attnscope
