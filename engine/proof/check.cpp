// SPDX-License-Identifier: Apache-2.0
#include "engine/proof/check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <utility>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/pattern/compile_plan.h"
#include "engine/proof/call.h"

namespace attnscope {
namespace {

using OnRow = std::function<void(const CheckRow&)>;

// Odd shapes at which attention kernels typically fail: single tokens, empty groups, lengths one
// off a window or a tile, primes, ragged batches, shared queries, many documents.

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

/// Layouts for every pattern and window, in both memory orders, and with gradients in one.
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
    text += fmt::format(" with a shared query of {}", layout.shared_query());
  return text;
}

struct CheckShape {
  SequenceLayout layout;
  std::int32_t heads = 2;
  std::int64_t head_dim = 32;
  DType dtype = DType::float32;
  MemoryOrder memory_order = MemoryOrder::head_major;
  Operation operation = Operation::attention;
  Direction direction = Direction::forward;

  /// "1+11+500 x 3, 2 heads x 32, head-major": [CLS], query, document of each item.
  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("{}, {} head{} x {}, {}", layout_text(layout), heads,
                                   heads == 1 ? "" : "s", head_dim, name_of(memory_order));
    if (operation != Operation::attention) text += fmt::format(", {}", name_of(operation));
    if (direction != Direction::forward) text += fmt::format(", {}", name_of(direction));
    return text;
  }
};

/// Items longer than a block pattern's full attention: one token more, a last block of one token
/// and a whole one, items with different numbers of blocks.
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

/// Documents for TKL's chunks: a first chunk that reaches the end, one whose last overlap is cut, a
/// last chunk of a single token and a whole one, many chunks, documents of different lengths.
std::vector<CheckShape> chunked_shapes_in(MemoryOrder order) {
  const SequenceLayout many = uniform(3, item(0, 0, 333));
  std::vector<CheckShape> shapes{
      {.layout = many, .heads = 10, .head_dim = 30, .memory_order = order},
      {.layout = many, .head_dim = 30, .dtype = DType::float16, .memory_order = order},
      {.layout = many, .head_dim = 32, .dtype = DType::bfloat16, .memory_order = order},
      {.layout = ragged({item(0, 0, 45), item(0, 9, 240), item(1, 4, 121), item(0, 0, 3)}),
       .head_dim = 30,
       .memory_order = order},
      {.layout = uniform(2, list_item(5, {81, 200})), .head_dim = 8, .memory_order = order},
      {.layout = ragged({item(1, 0, 90), list_item(0, {130, 44})}, 7), .memory_order = order},
  };
  for (const std::int64_t document : {39, 40, 41, 42, 43, 44, 46, 79, 80, 84, 85, 86}) {
    shapes.push_back(
        {.layout = uniform(1, item(0, 0, document)), .head_dim = 16, .memory_order = order});
  }
  return shapes;
}

std::vector<CheckShape> shapes_in(MemoryOrder order, const AttentionPattern& pattern) {
  std::vector<CheckShape> shapes;
  if (pattern.blocks) shapes = long_shapes_in(order, *pattern.blocks);
  if (pattern.has_chunks()) shapes = chunked_shapes_in(order);
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

/// For patterns with blocks also items long enough to have blocks, and likewise for chunks.
std::vector<CheckShape> check_shapes(const AttentionPattern& pattern) {
  std::vector<CheckShape> shapes;
  std::vector<CheckShape> backward;
  for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
    const std::vector<CheckShape> all = shapes_in(order, pattern);
    shapes.insert(shapes.end(), all.begin(), all.end());
    // Gradients are checked for every other shape, so that each is tested in one of the two memory
    // orders.
    for (std::size_t i = order == MemoryOrder::head_major ? 0 : 1; i < all.size(); i += 2) {
      backward.push_back(all[i]);
      backward.back().direction = Direction::forward_backward;
    }
  }
  shapes.insert(shapes.end(), backward.begin(), backward.end());
  return shapes;
}

/// 0, 1, 4, 64 and inf for patterns that have windows; once without a window for the others.
std::vector<std::optional<Window>> check_windows(const AttentionPattern& pattern) {
  if (!pattern.has_window()) return {std::nullopt};
  return {Window::of(0), Window::of(1), Window::of(4), Window::of(64), Window::infinite()};
}

/// One pattern at one window on one shape: the problem and, once an implementation supports it, its
/// tensors and the reference.
class Case {
 public:
  Case(const AttentionPattern& pattern, std::optional<Window> window, const CheckShape& shape,
       AttentionPlan plan, DeviceKind device, int threads)
      : plan_(std::move(plan)),
        problem_{.pattern = pattern,
                 .window = window,
                 .layout = shape.layout,
                 .plan = plan_,
                 .head_dim = shape.head_dim,
                 .dtype = shape.dtype,
                 .memory_order = shape.memory_order,
                 .device = device,
                 .operation = shape.operation,
                 .direction = shape.direction,
                 .scale = scale_of(shape.operation, shape.head_dim),
                 .threads = threads},
        tensors_(shape_of(problem_), device) {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  /// Fills the row's outcome.
  void run(const Implementation& implementation, CheckRow& row) {
    if (const Status ok = implementation.supports(problem_); !ok) {
      row.outcome = CheckRow::Outcome::declined;
      row.reason = ok.error().message;
      return;
    }
    if (!reference_) make_reference();
    WorstError worst;
    try {
      auto prepared = implementation.prepare(problem_);
      row.reason = prepared ? what_is_wrong(**prepared, worst)
                            : "supports() accepts an input that prepare() refuses: " +
                                  prepared.error().message;
    } catch (const std::exception& exception) {
      row.reason = exception.what();
    }
    row.relative_error = worst.error;
    row.error_bound = worst.bound;
    if (row.reason.empty()) return;
    row.outcome = CheckRow::Outcome::wrong;
    // All later calls would fail for this reason alone.
    if (problem_.device == DeviceKind::cuda) {
      if (const auto lost = cuda::lost()) {
        throw cuda::DeviceLost(
            fmt::format("{} on {} {}: {}; the device is lost to this process: {}",
                        row.implementation, row.pattern, row.shape, row.reason, *lost));
      }
    }
    fill_inputs();  // the failed call may have changed them
  }

 private:
  void make_reference() {
    tensors_.place([this](std::int64_t bytes) { return guarded_room(problem_.device, bytes); });
    fill_inputs();
    reference_.emplace(reference_of(
        problem_, sample_rows(problem_.layout, plan_.heads, plan_.tokens * plan_.heads, 1),
        tensors_));
  }

  void fill_inputs() const {
    std::mt19937_64 random(1);
    std::vector<float> values(
        static_cast<std::size_t>(plan_.tokens * plan_.heads * problem_.head_dim));
    const CallView host = tensors_.on_host();
    for (const Tensor& tensor : {host.q, host.k, host.v, host.grad_o}) {
      if (tensor.data == nullptr) continue;
      std::normal_distribution<float> normal;
      std::ranges::generate(values, [&] { return normal(random); });
      pack(values, plan_.tokens, plan_.heads, tensor);
    }
    tensors_.send_inputs();
  }

  /// Every pass is called twice: the second call uses the prepared object as the first left it.
  /// `worst` collects all errors except the log-sum-exp's.
  std::string what_is_wrong(PreparedAttention& prepared, WorstError& worst) {
    const Room workspace = guarded_room(problem_.device, prepared.workspace_bytes());
    for (const char* name : {"first call", "second call"}) {
      poison(problem_.device, workspace);
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        if (pass == Pass::backward && problem_.direction == Direction::forward) continue;
        const auto called = watched_call(tensors_, workspace, pass, [&] {
          return call(prepared, tensors_.on_device(), workspace.values, pass);
        });
        std::string wrong = called ? *called : called.error().message;
        if (wrong.empty()) {
          const Verdict verdict = judge(*reference_, tensors_, pass, prepared.writes_lse());
          worst.update(verdict.error.error, verdict.error.bound, verdict.error.tensor);
          wrong = verdict.wrong;
        }
        if (!wrong.empty())
          return fmt::format("{}: {}{}", name, pass == Pass::backward ? "backward: " : "", wrong);
      }
    }
    return {};
  }

  AttentionPlan plan_;
  Problem problem_;  // refers to plan_
  CallTensors tensors_;
  std::optional<Reference> reference_;
};

/// Every implementation on one case; returns how many were wrong.
int check_case(std::span<const Implementation* const> checked, const AttentionPattern& pattern,
               std::optional<Window> window, const CheckShape& shape, DeviceKind device,
               int threads, const OnRow& on_row) {
  auto plan = compile_plan(pattern, window, shape.layout, shape.heads);
  std::optional<Case> checked_case;
  if (plan) checked_case.emplace(pattern, window, shape, *plan, device, threads);
  int wrong = 0;
  for (const Implementation* implementation : checked) {
    CheckRow row;
    row.implementation = implementation->id;
    row.pattern = pattern.name;
    row.window = window ? window->text() : "";
    row.shape = shape.text();
    row.dtype = shape.dtype;
    if (checked_case) {
      checked_case->run(*implementation, row);
    } else {
      row.outcome = CheckRow::Outcome::declined;
      row.reason = plan.error().message;
    }
    if (row.outcome == CheckRow::Outcome::wrong) ++wrong;
    on_row(row);
  }
  return wrong;
}

}  // namespace

int check_implementations(std::span<const Implementation* const> checked, DeviceKind device,
                          int threads, const OnRow& on_row) {
  int wrong = 0;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    const std::vector<CheckShape> shapes = check_shapes(pattern);
    for (const std::optional<Window>& window : check_windows(pattern)) {
      for (const CheckShape& shape : shapes) {
        wrong += check_case(checked, pattern, window, shape, device, threads, on_row);
      }
    }
  }
  return wrong;
}

int check_all(DeviceKind device, int threads, const OnRow& on_row) {
  return check_implementations(implementations(), device, threads, on_row);
}

}  // namespace attnscope
