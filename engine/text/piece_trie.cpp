// SPDX-License-Identifier: Apache-2.0
#include "engine/text/piece_trie.h"

#include <algorithm>
#include <cstddef>

namespace attnscope {

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>> pieces) {
  std::erase_if(pieces, [](const auto& piece) { return piece.first.empty(); });
  const auto text_of = [](const auto& piece) { return piece.first; };
  if (!std::ranges::is_sorted(pieces, {}, text_of)) std::ranges::stable_sort(pieces, {}, text_of);
  // Pieces with the same first `depth` bytes.
  struct Range {
    std::size_t begin, end, depth;
  };
  std::vector<Range> ranges{{0, pieces.size(), 0}};  // one per node
  bytes_.push_back(0);
  of_first_.fill(none);
  for (std::size_t node = 0; node < ranges.size(); ++node) {
    Range range = ranges[node];
    first_.push_back(static_cast<Node>(ranges.size()));
    std::int32_t value = -1;
    for (; range.begin < range.end && pieces[range.begin].first.size() == range.depth;
         ++range.begin) {
      value = pieces[range.begin].second;
    }
    values_.push_back(value);
    while (range.begin < range.end) {
      const char byte = pieces[range.begin].first[range.depth];
      std::size_t end = range.begin + 1;
      while (end < range.end && pieces[end].first[range.depth] == byte) ++end;
      if (node == root)
        of_first_[static_cast<unsigned char>(byte)] = static_cast<Node>(ranges.size());
      ranges.push_back({range.begin, end, range.depth + 1});
      bytes_.push_back(static_cast<std::uint8_t>(byte));
      range.begin = end;
    }
  }
  first_.push_back(static_cast<Node>(ranges.size()));
}

PieceTrie::Node PieceTrie::walk(std::string_view bytes, Node node) const {
  for (const char byte : bytes) {
    if (node == none) break;
    node = next(node, byte);
  }
  return node;
}

}  // namespace attnscope
