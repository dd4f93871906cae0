#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a tokenizer and how they are looked up: a vocabulary of pieces with ids, a trie
// that finds pieces at the beginning of a text, and added tokens ("[SEP]" written out, runs of
// spaces), which are found in a text before it is split into words.
//
//   PieceTrie trie({{"un", 4}, {"until", 5}});
//   for (auto node = trie.next(PieceTrie::root, 'u'); node != PieceTrie::none; ...)
//
//   for (const AddedTokens::Part& part : added.cut("a[SEP]b")) ...   // "a", the id of [SEP], "b"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attnscope {

class PieceTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node root = 0, none = 0xFFFFFFFF;

  PieceTrie() : PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>>()) {}
  /// If a piece occurs twice, the later value is used; empty pieces are omitted. The texts need not
  /// outlive the constructor.
  explicit PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>> pieces);

  /// The next node for this byte; none if no piece continues with it.
  [[nodiscard]] Node next(Node node, char byte) const {
    const auto wanted = static_cast<unsigned char>(byte);
    if (node == root) return of_first_[wanted];
    const auto begin = bytes_.begin() + first_[node], end = bytes_.begin() + first_[node + 1];
    constexpr int few = 8;  // linear search is faster up to this number of children
    const auto child = end - begin <= few
                           ? std::find_if(begin, end, [&](auto own) { return own >= wanted; })
                           : std::lower_bound(begin, end, wanted);
    return child != end && *child == wanted ? static_cast<Node>(child - bytes_.begin()) : none;
  }
  /// The node after all of these bytes.
  [[nodiscard]] Node walk(std::string_view bytes, Node node = root) const;
  /// Value of the piece that ends at the node; -1 if none does.
  [[nodiscard]] std::int32_t value(Node node) const { return node == none ? -1 : values_[node]; }
  /// Value of exactly these bytes; -1 if they are not a piece.
  [[nodiscard]] std::int32_t find(std::string_view bytes) const { return value(walk(bytes)); }

 private:
  // In breadth-first order: the children of a node are consecutive and sorted.
  std::vector<Node> first_;  // first child of each node; one extra entry at the end
  std::vector<std::uint8_t> bytes_;
  std::vector<std::int32_t> values_;
  std::array<Node, 256> of_first_{};
};

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

/// Replaces each byte with its character in a byte-level vocabulary.
[[nodiscard]] std::string spelled_bytes(std::string_view bytes);
/// The bytes that the characters of a piece represent in a byte-level vocabulary: printable
/// characters represent themselves, U+0100 and following the other bytes. "" for a piece with other
/// characters.
[[nodiscard]] std::string bytes_of_piece(std::string_view piece);

}  // namespace attnscope
