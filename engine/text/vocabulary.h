#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pieces or words with their ids, read from a file with one per line or with explicit ids.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attnscope {

/// Ids are consecutive except for gaps, whose text is empty and which no word maps to.
class Vocabulary {
 public:
  static constexpr std::int64_t most_pieces = 4'000'000;

  Vocabulary() = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;
  ~Vocabulary() = default;

  /// If a piece is added twice, the last id counts. Several pieces may have the same id. Ids are
  /// below most_pieces.
  void add(const std::string& piece, std::int32_t id);
  /// -1: the piece is unknown.
  [[nodiscard]] std::int32_t id(std::string_view piece) const;
  /// "" if the id is unused; of several pieces the last one added.
  [[nodiscard]] std::string_view piece(std::int32_t id) const;
  [[nodiscard]] std::int64_t size() const;  // the largest id plus one
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(ids_.size()); }
  /// All pieces with their ids, sorted by piece.
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

/// One piece per line; its id is the line number from 0. Trailing white space is trimmed.
[[nodiscard]] Result<Vocabulary> read_vocabulary(std::string_view text, std::string_view source);

}  // namespace attnscope
