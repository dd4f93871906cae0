#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pieces or words with their ids, as a file of them says, a line each or with ids of its own.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

/// Ids are dense but for gaps, whose text is empty and which no word falls into.
class Vocabulary {
 public:
  static constexpr std::int64_t most_pieces = 4'000'000;

  Vocabulary() = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;
  ~Vocabulary() = default;

  /// The last id of a piece counts. Several pieces may have one id. Ids lie below most_pieces.
  void add(const std::string& piece, std::int32_t id);
  /// -1: there is none.
  [[nodiscard]] std::int32_t id(std::string_view piece) const;
  /// "" where there is none; of several the one added last.
  [[nodiscard]] std::string_view piece(std::int32_t id) const;
  [[nodiscard]] std::int64_t size() const;  // the largest id and one
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(ids_.size()); }
  /// All pieces with their ids, in the order of the pieces.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::int32_t>> pieces() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::vector<std::string_view> pieces_;  // of ids; their texts are the keys above
};

/// One piece a line, its id the number of the line from 0 on. White space after it is trimmed.
[[nodiscard]] Result<Vocabulary> read_vocabulary(std::string_view text, std::string_view source);

}  // namespace attnscope
