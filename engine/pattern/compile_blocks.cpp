// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/compile_blocks.h"

#include <algorithm>
#include <vector>

#include "engine/pattern/random_blocks.h"

namespace attnscope {
namespace {

class BlockCompiler {
 public:
  BlockCompiler(const BlockRule& rule, const SequenceLayout& layout, std::int32_t heads)
      : rule_(rule), layout_(layout) {
    plan_.tokens = layout.tokens();
    plan_.heads = heads;
  }

  AttentionPlan compile() && {
    for (std::int64_t i = 0; i < layout_.item_count(); ++i) add_item(i);
    return std::move(plan_);
  }

 private:
  void add_item(std::int64_t i) {
    const TokenRange item = layout_.item_tokens(i);
    if (item.empty()) return;
    const HeadRange all_heads{0, plan_.heads};
    if (item.size() <= rule_.full_attention_up_to()) {
      add_task(item, all_heads, i, {item});
      return;
    }
    const std::int64_t blocks = rule_.blocks_of(item.size());
    for (std::int64_t b = 0; b < blocks; ++b) {
      const TokenRange rows = tokens_of(item, {b, b + 1});
      if (b == 0 || b == blocks - 1) {
        add_task(rows, all_heads, i, {item});
        continue;
      }
      HeadRange heads{0, 1};
      std::vector<TokenRange> keys = keys_of(item, blocks, b, 0);
      for (; heads.end < plan_.heads; ++heads.end) {
        std::vector<TokenRange> next = keys_of(item, blocks, b, heads.end);
        if (next == keys) continue;
        add_task(rows, heads, i, keys);
        heads.begin = heads.end;
        keys = std::move(next);
      }
      add_task(rows, heads, i, keys);
    }
  }

  /// The keys of a middle block in one head, with adjacent blocks as one range.
  [[nodiscard]] std::vector<TokenRange> keys_of(TokenRange item, std::int64_t blocks,
                                                std::int64_t block, std::int32_t head) const {
    std::vector<std::int64_t> seen = random_blocks(
        rule_.random, {.seed = rule_.seed, .blocks = blocks, .head = head, .block = block});
    for (std::int64_t b = block - 1; b <= block + 1; ++b) seen.push_back(b);
    seen.push_back(0);
    seen.push_back(blocks - 1);
    std::sort(seen.begin(), seen.end());
    std::vector<TokenRange> keys;
    for (const std::int64_t b : seen) {
      const TokenRange tokens = tokens_of(item, {b, b + 1});
      if (!keys.empty() && keys.back().end >= tokens.begin) {
        keys.back().end = tokens.end;
      } else {
        keys.push_back(tokens);
      }
    }
    return keys;
  }

  [[nodiscard]] TokenRange tokens_of(TokenRange item, TokenRange blocks) const {
    return {item.begin + blocks.begin * rule_.length,
            std::min(item.begin + blocks.end * rule_.length, item.end)};
  }

  void add_task(TokenRange rows, HeadRange heads, std::int64_t item,
                const std::vector<TokenRange>& keys) {
    plan_.tasks.push_back({.queries = {rows.begin, rows.end},
                           .heads = heads,
                           .item = item,
                           .first_segment = static_cast<std::int64_t>(plan_.segments.size()),
                           .segment_count = static_cast<std::int64_t>(keys.size())});
    for (const TokenRange& range : keys) {
      plan_.segments.push_back({.keys = {range.begin, range.end}});
    }
  }

  const BlockRule& rule_;
  const SequenceLayout& layout_;
  AttentionPlan plan_;
};

}  // namespace

AttentionPlan compile_blocks(const BlockRule& rule, const SequenceLayout& layout,
                             std::int32_t heads) {
  return BlockCompiler(rule, layout, heads).compile();
}

}  // namespace attnscope
