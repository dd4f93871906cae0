#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A byte-wise trie of pieces that finds all pieces at the beginning of a text in one walk.
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

}  // namespace attnscope
