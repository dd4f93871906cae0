// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/check_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace attnscope {
namespace {

LayoutItem item(std::int64_t cls, std::int64_t query, std::int64_t document) {
  LayoutItem item;
  item.cls = cls;
  item.query = query;
  if (document > 0) item.documents = {document};
  return item;
}

LayoutItem list_item(std::int64_t query, std::vector<std::int64_t> documents) {
  LayoutItem item;
  item.query = query;
  item.documents = std::move(documents);
  return item;
}

LayoutItem with_sentences(LayoutItem item, std::vector<std::int64_t> starts) {
  item.sentences = std::move(starts);
  item.sentences_given = true;
  return item;
}

SequenceLayout ragged(std::vector<LayoutItem> items, std::int64_t shared_query = 0) {
  return SequenceLayout::make(std::move(items), shared_query).value();
}

SequenceLayout uniform(std::int64_t count, const LayoutItem& item, std::int64_t shared_query = 0) {
  return SequenceLayout::uniform(count, item, shared_query);
}

/// Layouts run with every pattern and window, in both memory orders, and with gradients in one.
std::vector<SequenceLayout> layouts() {
  std::vector<SequenceLayout> all{
      uniform(1, item(1, 0, 0)),  uniform(1, item(0, 1, 0)),   uniform(1, item(0, 0, 1)),
      uniform(1, item(1, 5, 0)),  uniform(1, item(1, 0, 7)),   uniform(1, item(1, 1, 1)),
      uniform(1, item(0, 3, 20)), uniform(2, item(1, 11, 97)), uniform(3, item(1, 13, 53)),
      uniform(5, item(1, 4, 12)), uniform(1, item(2, 37, 41)), uniform(1, item(1, 16, 143)),
      uniform(4, item(0, 0, 35)),
  };
  // Around 2w+1 for w = 1, 4, 64 and around tiles of 8, 16, 32 and 64 rows.
  for (const std::int64_t document : {2, 3, 8, 9, 10, 15, 16, 17, 31, 33, 63, 64, 65, 128, 130}) {
    all.push_back(uniform(1, item(1, 3, document)));
  }
  all.push_back(ragged({item(1, 3, 17), item(1, 0, 1), item(1, 11, 64), item(1, 5, 0),
                        item(0, 0, 0), item(0, 1, 33)}));
  all.push_back(ragged({item(0, 0, 9), item(0, 0, 1), item(0, 0, 40)}));
  all.push_back(ragged({item(1, 0, 20), item(1, 0, 5), item(1, 0, 0)}, 6));
  all.push_back(uniform(3, item(1, 0, 33), 17));
  all.push_back(ragged({list_item(4, {20, 13, 1}), list_item(2, {7})}));
  all.push_back(uniform(2, list_item(5, {16, 0, 19})));
  all.push_back(ragged({list_item(6, {33, 64, 1, 17}), list_item(6, {12, 90})}));
  all.push_back(uniform(1, with_sentences(item(1, 6, 61), {0, 1, 13, 44, 60})));
  all.push_back(ragged({with_sentences(item(1, 4, 30), {}), with_sentences(item(1, 4, 30), {7})}));
  return all;
}

std::string document_text(const LayoutItem& item) {
  if (item.documents.empty()) return "0";
  if (item.documents.size() == 1) return fmt::format("{}", item.documents[0]);
  return fmt::format("({})", fmt::join(item.documents, ","));
}

std::string item_text(const LayoutItem& item) {
  std::string text = fmt::format("{}+{}+{}", item.cls, item.query, document_text(item));
  if (item.sentences_given) text += fmt::format(" sentences at {}", item.sentences);
  return text;
}

std::string layout_text(const SequenceLayout& layout) {
  std::vector<std::string> runs;
  for (std::int64_t i = 0; i < layout.item_count();) {
    std::int64_t end = i + 1;
    while (end < layout.item_count() && layout.item(end) == layout.item(i)) ++end;
    runs.push_back(item_text(layout.item(i)));
    if (end - i > 1) runs.back() += fmt::format(" x {}", end - i);
    i = end;
  }
  std::string text = fmt::format("{}", fmt::join(runs, " and "));
  if (layout.shares_query())
    text += fmt::format(" beside a shared query of {}", layout.shared_query());
  return text;
}

/// Items of more tokens than a block pattern's full attention: one token more, a last block of one
/// token and a whole one, items of several numbers of blocks.
std::vector<CheckShape> long_shapes_in(MemoryOrder order, const BlockRule& rule) {
  const std::int64_t fallback = rule.full_attention_up_to();
  const auto of_tokens = [](std::int64_t tokens) { return item(1, 11, tokens - 12); };
  return {
      {.layout = uniform(1, of_tokens(fallback + rule.length + 1)),
       .head_dim = 16,
       .memory_order = order},
      {.layout = uniform(2, of_tokens(fallback + 1)), .head_dim = 8, .memory_order = order},
      {.layout = ragged({of_tokens(fallback + 2 * rule.length), of_tokens(fallback), item(1, 0, 0),
                         list_item(5, {500, 0, 300})}),
       .heads = 3,
       .head_dim = 8,
       .memory_order = order},
      {.layout = uniform(1, of_tokens(1000)),
       .head_dim = 16,
       .dtype = DType::float16,
       .memory_order = order},
      {.layout = uniform(1, of_tokens(fallback + 1)),
       .head_dim = 32,
       .dtype = DType::bfloat16,
       .memory_order = order},
      {.layout = uniform(1, of_tokens(1000)),
       .heads = 3,
       .head_dim = 8,
       .memory_order = order,
       .operation = Operation::windowed_matmul},
  };
}

std::vector<CheckShape> shapes_in(MemoryOrder order, const AttentionPattern& pattern) {
  std::vector<CheckShape> shapes;
  if (pattern.blocks) shapes = long_shapes_in(order, *pattern.blocks);
  for (const SequenceLayout& layout : layouts()) {
    shapes.push_back({.layout = layout, .memory_order = order});
  }
  for (const std::int64_t dim : {8, 16, 24, 40, 64, 96, 128}) {
    shapes.push_back(
        {.layout = uniform(2, item(1, 7, 45)), .head_dim = dim, .memory_order = order});
  }
  for (const std::int32_t heads : {1, 3}) {
    shapes.push_back({.layout = uniform(2, item(1, 7, 45)), .heads = heads, .memory_order = order});
  }
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    shapes.push_back(
        {.layout = uniform(2, item(1, 11, 97)), .dtype = dtype, .memory_order = order});
    shapes.push_back({.layout = ragged({item(1, 3, 17), item(1, 0, 1), item(1, 5, 0)}),
                      .head_dim = 64,
                      .dtype = dtype,
                      .memory_order = order});
  }
  for (const SequenceLayout& layout :
       {uniform(1, item(0, 0, 9)), uniform(3, item(0, 0, 65)),
        ragged({item(0, 0, 9), item(0, 0, 1), item(0, 0, 40)}), uniform(2, item(1, 4, 30))}) {
    shapes.push_back(
        {.layout = layout, .memory_order = order, .operation = Operation::windowed_matmul});
  }
  return shapes;
}

}  // namespace

std::string CheckShape::text() const {
  std::string text = fmt::format("{}, {} head{} x {}, {}", layout_text(layout), heads,
                                 heads == 1 ? "" : "s", head_dim, name_of(memory_order));
  if (operation != Operation::attention) text += fmt::format(", {}", name_of(operation));
  if (direction != Direction::forward) text += fmt::format(", {}", name_of(direction));
  return text;
}

std::vector<CheckShape> check_shapes(const AttentionPattern& pattern) {
  std::vector<CheckShape> shapes;
  std::vector<CheckShape> backward;
  for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
    const std::vector<CheckShape> all = shapes_in(order, pattern);
    shapes.insert(shapes.end(), all.begin(), all.end());
    // With gradients every other one, so that each meets them in one of the two memory orders.
    for (std::size_t i = order == MemoryOrder::head_major ? 0 : 1; i < all.size(); i += 2) {
      backward.push_back(all[i]);
      backward.back().direction = Direction::forward_backward;
    }
  }
  shapes.insert(shapes.end(), backward.begin(), backward.end());
  return shapes;
}

std::vector<std::optional<Window>> check_windows(const AttentionPattern& pattern) {
  if (!pattern.has_window()) return {std::nullopt};
  return {Window::of(0), Window::of(1), Window::of(4), Window::of(64), Window::infinite()};
}

}  // namespace attnscope
