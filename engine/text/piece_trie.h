#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pieces byte by byte, to find all of them that a text begins with in one walk.
//
//   PieceTrie trie({{"un", 4}, {"until", 5}});
//   for (auto node = trie.next(PieceTrie::root, 'u'); node != PieceTrie::none; ...)

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace attnscope {

class PieceTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node root = 0, none = 0xFFFFFFFF;

  PieceTrie() : PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>>()) {}
  /// Of a piece given twice the later value is kept, and empty ones are left out. The texts need
  /// not live on.
  explicit PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>> pieces);

  /// Where the walk goes with this byte; none where no piece goes on so.
  [[nodiscard]] Node next(Node node, char byte) const {
    const auto wanted = static_cast<unsigned char>(byte);
    if (node == root) return of_first_[wanted];
    const auto begin = bytes_.begin() + first_[node], end = bytes_.begin() + first_[node + 1];
    constexpr int few = 8;  // children that are looked through faster than halved
    const auto child = end - begin <= few
                           ? std::find_if(begin, end, [&](auto own) { return own >= wanted; })
                           : std::lower_bound(begin, end, wanted);
    return child != end && *child == wanted ? static_cast<Node>(child - bytes_.begin()) : none;
  }
  /// Where the walk ends with all of these bytes.
  [[nodiscard]] Node walk(std::string_view bytes, Node node = root) const;
  /// Of the piece that ends here; -1 where none does.
  [[nodiscard]] std::int32_t value(Node node) const { return node == none ? -1 : values_[node]; }
  /// Of exactly these bytes; -1 where they are no piece.
  [[nodiscard]] std::int32_t find(std::string_view bytes) const { return value(walk(bytes)); }

 private:
  // In the order of a breadth-first walk: the children of a node follow one another, sorted.
  std::vector<Node> first_;  // its first child; one entry behind the last node
  std::vector<std::uint8_t> bytes_;
  std::vector<std::int32_t> values_;
  std::array<Node, 256> of_first_{};
};

}  // namespace attnscope
