// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/drawn_blocks.h"

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>

namespace attnscope::tests {
namespace {

class Builder {
 public:
  Builder(const SequenceLayout& layout, const DrawnBlocks& drawn) : layout_(layout), drawn_(drawn) {
    plan_.tokens = layout.tokens();
    plan_.heads = static_cast<std::int32_t>(drawn.heads);
  }

  AttentionPlan build() {
    for (std::int64_t item = 0; item < layout_.item_count(); ++item) add_item(item);
    return std::move(plan_);
  }

 private:
  void add_item(std::int64_t item) {
    const TokenRange tokens = layout_.item_tokens(item);
    const std::int64_t last = drawn_.rows + 1;
    if (tokens.size() <= last * drawn_.block_length) {
      throw std::invalid_argument("an item has fewer blocks than were drawn for");
    }
    const HeadRange all_heads{0, plan_.heads};
    add_task(item, block(tokens, 0), all_heads, {tokens});
    for (std::int64_t row = 1; row < last; ++row) {
      for (std::int32_t head = 0; head < plan_.heads; ++head) {
        add_task(item, block(tokens, row), {head, head + 1}, seen_by(tokens, row, head));
      }
    }
    add_task(item, block(tokens, last), all_heads, {tokens});
  }

  TokenRange block(const TokenRange& item, std::int64_t number) const {
    const std::int64_t begin = item.begin + number * drawn_.block_length;
    return {begin, std::min(begin + drawn_.block_length, item.end)};
  }

  /// Ascending, blocks that touch joined.
  std::vector<TokenRange> seen_by(const TokenRange& item, std::int64_t row,
                                  std::int32_t head) const {
    std::set<std::int64_t> blocks{0, row - 1, row, row + 1, drawn_.rows + 1};
    const std::int64_t first = (head * drawn_.rows + row - 1) * drawn_.per_row;
    for (std::int64_t i = first; i < first + drawn_.per_row; ++i) {
      if (!blocks.insert(drawn_.blocks.at(static_cast<std::size_t>(i))).second) {
        throw std::invalid_argument("a block was drawn that is seen anyway");
      }
    }
    std::vector<TokenRange> runs;
    for (const std::int64_t number : blocks) {
      const TokenRange next = block(item, number);
      if (!runs.empty() && runs.back().end == next.begin) {
        runs.back().end = next.end;
      } else {
        runs.push_back(next);
      }
    }
    return runs;
  }

  void add_task(std::int64_t item, const TokenRange& queries, HeadRange heads,
                const std::vector<TokenRange>& keys) {
    plan_.tasks.push_back({.queries = {queries.begin, queries.end},
                           .heads = heads,
                           .item = item,
                           .first_segment = static_cast<std::int64_t>(plan_.segments.size()),
                           .segment_count = static_cast<std::int64_t>(keys.size())});
    for (const TokenRange& run : keys) plan_.segments.push_back({.keys = {run.begin, run.end}});
  }

  const SequenceLayout& layout_;
  const DrawnBlocks& drawn_;
  AttentionPlan plan_;
};

}  // namespace

AttentionPlan plan_of_drawn_blocks(const SequenceLayout& layout, const DrawnBlocks& drawn) {
  return Builder(layout, drawn).build();
}

}  // namespace attnscope::tests
