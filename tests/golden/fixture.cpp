// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/fixture.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <set>

#include "engine/pattern/compile_plan.h"

namespace attnscope::tests {
namespace {

SafetensorsFile open(std::string_view name) {
  const std::filesystem::path folder = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden";
  return must(SafetensorsFile::open(folder / fmt::format("{}.safetensors", name)));
}

std::vector<std::int64_t> integers(const TensorView& view) {
  std::vector<std::int64_t> values(view.bytes.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

/// Block row + 1 attends to the random blocks blocks[(head * rows + row) * per_row + i] in every
/// item.
struct DrawnBlocks {
  std::int64_t heads = 0;
  std::int64_t rows = 0;  // all blocks but the first and the last
  std::int64_t per_row = 0;
  std::int64_t block_length = 0;  // in tokens; an item's last block may be shorter
  std::vector<std::int64_t> blocks;
};

/// BigBird's block-sparse attention (Zaheer et al., 2020) over given random blocks: the first and
/// the last block attend to all tokens, and all tokens attend to them; every other block attends to
/// itself, its two neighbours and its random blocks.
class DrawnBlocksPlan {
 public:
  DrawnBlocksPlan(const SequenceLayout& layout, const DrawnBlocks& drawn)
      : layout_(layout), drawn_(drawn) {
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
      throw std::invalid_argument("an item has fewer blocks than the fixture");
    }
    const HeadRange all_heads{0, plan_.heads};
    add_task(item, block(tokens, 0), all_heads, {tokens});
    for (std::int64_t row = 1; row < last; ++row) {
      for (std::int32_t head = 0; head < plan_.heads; ++head) {
        add_task(item, block(tokens, row), {head, head + 1}, keys_of(tokens, row, head));
      }
    }
    add_task(item, block(tokens, last), all_heads, {tokens});
  }

  TokenRange block(const TokenRange& item, std::int64_t number) const {
    const std::int64_t begin = item.begin + number * drawn_.block_length;
    return {begin, std::min(begin + drawn_.block_length, item.end)};
  }

  /// Ascending, with adjacent blocks joined.
  std::vector<TokenRange> keys_of(const TokenRange& item, std::int64_t row,
                                  std::int32_t head) const {
    std::set<std::int64_t> blocks{0, row - 1, row, row + 1, drawn_.rows + 1};
    const std::int64_t first = (head * drawn_.rows + row - 1) * drawn_.per_row;
    for (std::int64_t i = first; i < first + drawn_.per_row; ++i) {
      if (!blocks.insert(drawn_.blocks.at(static_cast<std::size_t>(i))).second) {
        throw std::invalid_argument("a random block is one that its row attends to anyway");
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

Fixture::Fixture(std::string_view name)
    : file_(open(name)), layout_(must(parse_layout(must(file_.metadata("layout")), name))) {
  const std::vector<std::int64_t> shape = must(file_.tensor("q")).shape;
  heads_ = shape.at(1);
  head_dim_ = shape.at(2);
  if (const auto window = file_.metadata("window")) window_ = must(parse_window(*window));
  if (const auto block_length = file_.metadata("block_length")) {
    pattern_.name = "bigbird";  // for messages: the plan is built from the lists in the file
    plan_ = plan_of_blocks(std::stoll(std::string(*block_length)));
  } else {
    pattern_ = must(find_pattern(must(file_.metadata("pattern"))));
    plan_ = must(compile_plan(pattern_, window_, layout_, static_cast<std::int32_t>(heads_)));
  }
}

AttentionPlan Fixture::plan_of_blocks(std::int64_t block_length) const {
  const TensorView lists = must(file_.tensor("random_blocks"));
  const DrawnBlocks drawn{.heads = lists.shape.at(0),
                          .rows = lists.shape.at(1),
                          .per_row = lists.shape.at(2),
                          .block_length = block_length,
                          .blocks = integers(lists)};
  return DrawnBlocksPlan(layout_, drawn).build();
}

Problem Fixture::problem(MemoryOrder order, Direction direction) const {
  return {.pattern = pattern_,
          .window = window_,
          .layout = layout_,
          .plan = plan_,
          .head_dim = head_dim_,
          .memory_order = order,
          .direction = direction,
          .scale = scale_of(Operation::attention, head_dim_)};
}

std::span<const float> Fixture::values(std::string_view tensor) const {
  const std::array<std::int64_t, 3> shape{layout_.tokens(), heads_, head_dim_};
  return must(file_.floats(tensor, shape));
}

}  // namespace attnscope::tests
