// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "engine/pattern/axes.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope::testing {
namespace {

/// Cycles through the memory orders.
Order order_of(std::size_t number) {
  return orders.at(number % orders.size());
}

/// Adds cases, each with the next memory order unless it has head_major_items.
class List {
 public:
  explicit List(DType dtype) : dtype_(dtype) {}

  void add(AttentionCase problem) {
    problem.dtype = dtype_;
    if (problem.order != Order::head_major_items) problem.order = order_of(cases_.size());
    cases_.push_back(std::move(problem));
  }
  [[nodiscard]] std::vector<AttentionCase> cases() { return std::move(cases_); }

 private:
  DType dtype_;
  std::vector<AttentionCase> cases_;
};

}  // namespace

std::string AttentionCase::text() const {
  return fmt::format("{} w={} heads={} d={} {} {} {}", pattern, window ? window->text() : "none",
                     heads, head_dim, name_of(order), attnscope::name_of(dtype),
                     layout_json(layout));
}

AttentionPlan AttentionCase::plan() const {
  const auto found = find_pattern(pattern);
  EXPECT_TRUE(found) << found.error().message;
  const auto compiled = compile_plan(*found, window, layout, heads);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return *compiled;
}

KeysOf AttentionCase::keys() const {
  return keys_from_oracle(pattern, window, layout);
}

Inputs AttentionCase::inputs(unsigned seed) const {
  const std::int64_t item_tokens = layout.item_count() > 0 ? layout.item_tokens(0).size() : 0;
  return random_inputs(layout.tokens(), heads, head_dim, order, item_tokens, seed, dtype);
}

SequenceLayout layout_of(std::vector<LayoutItem> items, std::int64_t shared_query) {
  const auto layout = SequenceLayout::make(std::move(items), shared_query);
  EXPECT_TRUE(layout) << layout.error().message;
  return *layout;
}

SequenceLayout two_items() {
  return layout_of({{.query = 5, .documents = {70}, .sentences = {0, 30, 60}},
                    {.query = 4, .documents = {23}, .sentences = {0, 11}}});
}

std::vector<AttentionCase> cases_of_windows(DType dtype) {
  const SequenceLayout one = layout_of({{.query = 11, .documents = {101}}});
  List list(dtype);
  for (const char* pattern : patterns) {
    for (const std::int64_t w : {0, 4, 40}) {
      list.add(
          {.pattern = pattern, .window = Window::of(w), .layout = two_items(), .emulated = true});
    }
    list.add({.pattern = pattern, .window = Window::infinite(), .layout = one, .heads = 1});
    for (const std::int64_t w : {1, 2, 3, 7, 8, 16, 64, 100, 101, 5000}) {
      list.add({.pattern = pattern, .window = Window::of(w), .layout = one, .heads = 1});
    }
  }
  list.add({.window = Window::infinite(), .layout = two_items(), .emulated = true});
  return list.cases();
}

std::vector<AttentionCase> cases_of_lengths(DType dtype) {
  constexpr std::array windows{4, 16, 0, 1};
  List list(dtype);
  std::size_t number = 0;
  for (const char* pattern : patterns) {
    for (const std::int64_t n :
         {0, 1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 33, 127, 128, 129, 151, 257}) {
      const bool has_most_rules =
          pattern == std::string_view("sparse") || pattern == std::string_view("qds");
      list.add({.pattern = pattern,
                .window = Window::of(windows.at(number++ % windows.size())),
                .layout = layout_of({{.query = 5, .documents = {n}}}),
                .emulated = has_most_rules && (n == 1 || n == 9 || n == 33)});
    }
  }
  return list.cases();
}

std::vector<AttentionCase> cases_of_narrow_windows(DType dtype) {
  const std::vector<std::vector<LayoutItem>> layouts{
      // Walks of several strips, an end within a strip, a document shorter than any window.
      {{.query = 11, .documents = {147}}, {.query = 4, .documents = {3}}},
      // Many globals; no query; no [CLS]; several documents of an item.
      {{.query = 20, .documents = {65}}, {.query = 0, .documents = {33}}},
      {{.cls = 0, .query = 3, .documents = {40}}, {.query = 6, .documents = {30, 1, 0, 17}}}};
  List list(dtype);
  const auto add = [&](AttentionCase problem) {
    problem.emulated = dtype != DType::float32;
    list.add(std::move(problem));
  };
  for (const std::vector<LayoutItem>& items : layouts) {
    for (const std::int64_t w : {0, 1, 4, 5, 16}) {
      for (const std::int64_t d : {32, 64}) {
        add({.window = Window::of(w), .layout = layout_of(items), .heads = 1, .head_dim = d});
      }
    }
    for (const char* pattern : {"longformer", "sparse-without-independent-query"}) {
      for (const std::int64_t w : {3, 15}) {
        add({.pattern = pattern, .window = Window::of(w), .layout = layout_of(items)});
      }
    }
  }
  // Broad windows, with and without keys that all rows of a step see.
  const SequenceLayout documents =
      layout_of({{.query = 11, .documents = {331}}, {.query = 2, .documents = {90, 21}}});
  for (const std::int64_t w : {17, 64, 100, 128}) {
    for (const std::int64_t d : {32, 64}) {
      add({.window = Window::of(w), .layout = documents, .heads = 1, .head_dim = d});
    }
  }
  for (const std::int64_t d : {32, 64}) {
    add({.pattern = "longformer",
         .window = Window::of(64),
         .layout = documents,
         .heads = 1,
         .head_dim = d});
  }
  add({.window = Window::of(4),
       .layout = SequenceLayout::uniform(4, {.documents = {50}}, 11),
       .heads = 3});
  add({.window = Window::of(4),
       .layout = SequenceLayout::uniform(3, {.query = 3, .documents = {40}}),
       .heads = 3,
       .order = Order::head_major_items});
  return list.cases();
}

std::vector<AttentionCase> cases_of_head_dims(DType dtype) {
  constexpr std::array rotated{"sparse", "qds", "full", "longformer"};
  // The ends of the classes of the CUDA kernels, and numbers within them.
  constexpr std::array on_cuda{8, 16, 20, 32, 33, 64, 100, 128, 200, 256};
  const SequenceLayout layout =
      layout_of({{.query = 5, .documents = {40}}, {.query = 3, .documents = {18}}});
  List list(dtype);
  std::size_t number = 0;
  for (const std::int64_t d :
       {1, 2, 3, 7, 8, 15, 16, 17, 20, 31, 32, 33, 40, 64, 72, 100, 128, 129, 200, 255, 256}) {
    // The emulation runs two orders, with and without whole vectors between rows.
    const bool chosen = std::ranges::find(on_cuda, d) != on_cuda.end();
    for (std::size_t i = 0; i < orders.size(); ++i) {
      list.add({.pattern = rotated.at((number + i) % rotated.size()),
                .layout = layout,
                .head_dim = d,
                .emulated = chosen && (i + number) % 4 < 2});
    }
    ++number;
  }
  return list.cases();
}

std::vector<AttentionCase> cases_of_layouts(DType dtype) {
  const std::vector<std::vector<LayoutItem>> layouts{
      {{.cls = 1, .query = 0, .documents = {33}}},
      {{.cls = 1, .query = 7, .documents = {0}}},
      {{.cls = 0, .query = 7, .documents = {20}}},
      {{.cls = 0, .query = 0, .documents = {20}}},
      {{.cls = 1, .query = 0, .documents = {0}}},
      // Items of different lengths, some of them without a part.
      {{.cls = 1, .query = 4, .documents = {70}},
       {.cls = 1, .query = 9, .documents = {1}},
       {.cls = 1, .query = 0, .documents = {18}},
       {.cls = 0, .query = 0, .documents = {5}},
       {.cls = 1, .query = 2, .documents = {0}},
       {.cls = 1, .query = 0, .documents = {0}},
       {.cls = 0, .query = 7, .documents = {20}},
       {.cls = 1, .query = 17, .documents = {131}},
       {.cls = 1, .query = 16, .documents = {16}},
       {.cls = 1, .query = 3, .documents = {37}}},
      // Several documents of one item.
      {{.query = 5, .documents = {30, 1, 0, 17}}, {.query = 2, .documents = {0, 64}}}};
  const std::vector<LayoutItem> sentences{
      {.query = 5,
       .documents = {90},
       .sentences = {0, 1, 2, 20, 21, 55, 89},
       .sentences_given = true},
      {.query = 5, .documents = {40}, .sentences = {39}, .sentences_given = true},
      {.query = 0, .documents = {9, 30}, .sentences = {3, 9}, .sentences_given = true}};
  List list(dtype);
  for (const char* pattern : patterns) {
    for (const std::vector<LayoutItem>& items : layouts) {
      list.add({.pattern = pattern, .layout = layout_of(items)});
      list.add({.pattern = pattern, .layout = layout_of(items)});  // in another memory order
    }
    for (const std::int64_t w : {0, 4, 40}) {
      list.add({.pattern = pattern, .window = Window::of(w), .layout = layout_of(sentences)});
    }
    for (const std::int64_t d : {20, 32}) {
      list.add({.pattern = pattern,
                .layout = SequenceLayout::uniform(3, {.query = 3, .documents = {40}}),
                .heads = 3,
                .head_dim = d,
                .order = Order::head_major_items,
                .emulated = pattern == patterns.front()});
    }
  }
  const std::vector<LayoutItem> sharing{{.documents = {40}},
                                        {.documents = {3}},
                                        {.cls = 0, .documents = {11}},
                                        {.documents = {}},
                                        {.documents = {97}}};
  for (const std::int64_t w : {0, 4, 200}) {
    for (int order = 0; order < 2; ++order) {
      list.add({.window = Window::of(w), .layout = layout_of(sharing, 11), .heads = 3});
    }
  }
  list.add({.layout = layout_of({{.documents = {20}}, {.documents = {33}}}, 40)});
  list.add({.layout = SequenceLayout::uniform(120, {.documents = {29}}, 12),
            .heads = 1,
            .head_dim = 16});
  list.add({.layout = SequenceLayout::uniform(14, {.documents = {40}}, 7),
            .heads = 1,
            .head_dim = 16,
            .emulated = true});
  for (const Order order : {Order::token_major, Order::head_major_items}) {
    for (const std::int64_t w : {0, 1}) {
      list.add({.window = Window::of(w),
                .layout = SequenceLayout::uniform(600, {.query = 2, .documents = {3}}),
                .head_dim = 8,
                .order = order});
    }
  }
  std::vector<LayoutItem> tiny;
  for (std::int64_t i = 0; i < 150; ++i) tiny.push_back({.documents = {i % 4}});
  list.add({.window = Window::of(1), .layout = layout_of(std::move(tiny)), .head_dim = 8});
  return list.cases();
}

std::vector<AttentionCase> cases_of_long_documents(DType dtype) {
  List list(dtype);
  const SequenceLayout several = layout_of({{.query = 11, .documents = {601}}});
  for (const char* pattern : {"sparse", "longformer", "qds", "full"}) {
    for (const std::int64_t w : {4, 64, 300}) {
      list.add({.pattern = pattern, .window = Window::of(w), .layout = several, .heads = 1});
    }
  }
  // [CLS] sees 2,004 keys and 2,004 rows see [CLS] and the query: on CUDA both are split over
  // blocks.
  list.add({.layout = layout_of({{.query = 3, .documents = {2000}}}),
            .heads = 1,
            .head_dim = 16,
            .emulated = true});
  return list.cases();
}

std::vector<AttentionCase> cases_of_short_documents() {
  List list(DType::float32);
  for (const LayoutItem& around : {LayoutItem{.cls = 0, .query = 0}, LayoutItem{.query = 3}}) {
    for (std::int64_t n = 0; n <= 24; ++n) {
      LayoutItem item = around;
      item.documents = {n};
      for (std::int64_t w = 0; w <= n; ++w) {
        list.add({.window = Window::of(w), .layout = layout_of({item}), .heads = 1, .head_dim = 8});
      }
    }
  }
  return list.cases();
}

}  // namespace attnscope::testing
