// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/packed_windows.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/attention/sdpa/sdpa.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

/// Documents of one length and the numbers of their windows, item by item.
struct WindowRun {
  TokenRange document;  // in the frame
  std::int64_t chunks = 0;
  std::int64_t first = 0;  // number of a window
};

/// Rows of a window that are one chunk apart between windows and so never overlap.
struct WindowPart {
  std::int64_t begin = 0;
  std::int64_t rows = 0;
};

class PreparedWindows final : public PreparedAttention {
 public:
  PreparedWindows(const Problem& problem, PackedWindows windows)
      : problem_(problem),
        windows_(std::move(windows)),
        heads_(problem.plan.heads),
        chunk_(windows_.chunk.tokens),
        overlap_(windows_.chunk.overlap),
        width_(windows_.window()),
        count_(windows_.count()) {
    std::int64_t first = 0;
    runs_.reserve(windows_.documents.size());
    for (const TokenRange& document : windows_.documents) {
      const std::int64_t chunks = windows_.chunks_of(document);
      runs_.push_back({.document = document, .chunks = chunks, .first = first});
      first += windows_.items * chunks;
    }
  }

  std::int64_t workspace_bytes() const override { return 0; }
  bool writes_lse() const override { return false; }

  /// Windows are multiplied completely, and copied: q, k and v into them, their centres out of
  /// them.
  ExecutedWork executed() const override {
    ExecutedWork work;
    const double products = with_gradients() ? 2 + 5 : 2;
    const double window_values = static_cast<double>(count_ * heads_ * width_ * problem_.head_dim);
    // q, k and v: read, written, read. o: written, its centres read and written. Backward: both
    // read again, grad_o copied in the same way, gradients written and summed.
    double values = (with_gradients() ? 3 * 3 + 3 + 4 + 3 + 3 * 3 : 3 * 3 + 3) * window_values;
    double pairs = static_cast<double>(count_ * heads_ * width_ * width_);
    for (const WholeRows& part : windows_.whole) {
      const auto rows = static_cast<double>(windows_.items * heads_ * part.rows.size());
      const auto columns = static_cast<double>(columns_of(part));
      pairs += rows * columns;
      const auto matrices = static_cast<double>(windows_.items * heads_ * problem_.head_dim);
      values +=
          (with_gradients() ? 6 : 2) * (static_cast<double>(part.rows.size()) + columns) * matrices;
    }
    work.flop = 2 * products * pairs * static_cast<double>(problem_.head_dim);
    work.bytes = values * static_cast<double>(size_of(problem_.dtype));
    return work;
  }

  std::int64_t allocated_bytes() const override {
    const std::int64_t element = size_of(problem_.dtype);
    const std::int64_t values = count_ * heads_ * width_ * problem_.head_dim;
    const std::int64_t lse = count_ * heads_ * width_ * static_cast<std::int64_t>(sizeof(float));
    std::int64_t kept = 4 * element * values + lse + count_ * width_ * element;
    std::int64_t working = 0;
    std::int64_t most_rows = width_;
    std::int64_t most_columns = width_;
    for (const WholeRows& part : windows_.whole) {
      const std::int64_t rows = windows_.items * heads_ * part.rows.size();
      const std::int64_t columns = windows_.items * heads_ * columns_of(part);
      const bool copies = with_gradients() || part.keys.size() > 1;
      const std::int64_t own =
          element * problem_.head_dim * ((copies ? 2 * columns : 0) + 2 * rows) + 4 * rows;
      if (with_gradients()) kept += own;
      working = std::max(working, own);
      most_rows = std::max(most_rows, part.rows.size());
      most_columns = std::max(most_columns, columns_of(part));
    }
    if (with_gradients()) {
      // The incoming gradient, three gradients and the kernel's buffers; sums in float32.
      working = std::max(working, 6 * element * values);
      kept += 2 * static_cast<std::int64_t>(sizeof(float)) * frame_values();
    }
    if (problem_.plan.tokens == 0) return 0;
    return kept + working + sdpa_tile_bytes(problem_, most_rows, most_columns);
  }

  Status forward(const ForwardCall& call) override {
    use_torch_threads(problem_.threads);
    graphs_.clear();
    if (with_gradients()) {
      const c10::AutoGradMode gradients(true);
      // Stored only when complete: if memory runs out before, all of it is freed.
      std::vector<Graph> graphs;
      compute(call, &graphs);
      graphs_ = std::move(graphs);
    } else {
      const c10::InferenceMode no_gradients;
      compute(call, nullptr);
    }
    return {};
  }

  Status backward(const BackwardCall& call) override {
    if (graphs_.empty() && problem_.plan.tokens > 0) {
      return fail("backward needs a forward call before it");
    }
    use_torch_threads(problem_.threads);
    const c10::NoGradGuard only_where_requested;
    std::vector<Graph> graphs = std::exchange(graphs_, {});
    const GradientTensors& tensors = call.tensors;
    const at::Tensor arriving = frame(tensors.grad_o);
    const at::Tensor grad_q = frame(tensors.grad_q);
    const auto sums = [&] { return at::zeros(arriving.sizes(), options(at::kFloat)); };
    const at::Tensor to_keys = sums();
    const at::Tensor to_values = sums();
    auto graph = graphs.begin();
    if (count_ > 0) {
      const auto leaving = walk_back(*graph++, packed_centres(arriving));
      put_centres(leaving[0], grad_q);
      add_windows(leaving[1], to_keys);
      add_windows(leaving[2], to_values);
    }
    for (const WholeRows& part : windows_.whole) {
      if (part.keys.empty()) {
        rows_of(grad_q, part.rows).zero_();
        continue;
      }
      const auto leaving = walk_back(*graph++, rows_of(arriving, part.rows));
      rows_of(grad_q, part.rows).copy_(leaving[0]);
      add_columns(part, leaving[1], to_keys);
      add_columns(part, leaving[2], to_values);
    }
    frame(tensors.grad_k).copy_(to_keys);
    frame(tensors.grad_v).copy_(to_values);
    return {};
  }

 private:
  struct Graph {
    std::array<at::Tensor, 3> leaves;  // q, k, v
    at::Tensor o;
  };

  bool with_gradients() const { return problem_.direction == Direction::forward_backward; }
  at::TensorOptions options(at::ScalarType type) const {
    return at::TensorOptions().dtype(type).device(torch_device(problem_.device));
  }
  std::int64_t frame_values() const {
    return windows_.items * windows_.frame.size() * heads_ * problem_.head_dim;
  }
  static std::int64_t columns_of(const WholeRows& part) {
    std::int64_t columns = 0;
    for (const TokenRange& keys : part.keys) columns += keys.size();
    return columns;
  }

  /// [items, heads, tokens of the frame, dim].
  template <typename AnyTensor>
  at::Tensor frame(const AnyTensor& tensor) const {
    return view_of(tensor, windows_.frame, windows_.items, heads_, torch_device(problem_.device));
  }
  static at::Tensor rows_of(const at::Tensor& frame, TokenRange range) {
    return frame.narrow(2, range.begin, range.size());
  }

  void compute(const ForwardCall& call, std::vector<Graph>* graphs) {
    const at::Tensor q = frame(call.q);
    const at::Tensor k = frame(call.k);
    const at::Tensor v = frame(call.v);
    const at::Tensor o = frame(call.o);
    if (count_ > 0) {
      make_mask();
      put_centres(attend(packed(q), packed(k), packed(v), mask_, graphs), o);
    }
    for (const WholeRows& part : windows_.whole) {
      const at::Tensor target = rows_of(o, part.rows);
      if (part.keys.empty()) {
        target.zero_();
        continue;
      }
      target.copy_(
          attend(rows_of(q, part.rows), columns(part, k), columns(part, v), std::nullopt, graphs));
    }
  }

  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const std::optional<at::Tensor>& bias, std::vector<Graph>* graphs) const {
    const auto run = [&](const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values) {
      return run_sdpa_kernel(SdpaKernel::chosen_by_libtorch,
                             {.q = rows, .k = keys, .v = values, .bias = bias},
                             static_cast<double>(problem_.scale), /*with_lse=*/false)
          .o;
    };
    if (graphs == nullptr) return run(q, k, v);
    Graph graph{.leaves = {q.detach().requires_grad_(), k.detach().requires_grad_(),
                           v.detach().requires_grad_()},
                .o = {}};
    graph.o = run(graph.leaves[0], graph.leaves[1], graph.leaves[2]);
    graphs->push_back(std::move(graph));
    return graphs->back().o.detach();
  }

  static std::vector<at::Tensor> walk_back(Graph& graph, const at::Tensor& arriving) {
    const Graph taken = std::move(graph);
    return torch::autograd::grad({taken.o}, {taken.leaves.begin(), taken.leaves.end()}, {arriving});
  }

  // -- windows ------------------------------------------------------------------------------------

  at::Tensor empty_windows() const {
    return at::empty({count_, heads_, width_, problem_.head_dim},
                     options(scalar_type(problem_.dtype)));
  }
  /// A run's windows as [items, chunks, heads, window, dim].
  at::Tensor windows_of(const at::Tensor& all, const WindowRun& run) const {
    return all.narrow(0, run.first, windows_.items * run.chunks)
        .view({windows_.items, run.chunks, heads_, width_, problem_.head_dim});
  }
  /// Runs of `rows` rows at distances of one chunk, starting at `begin`, in a frame's document:
  /// [items, chunks, heads, rows, dim].
  at::Tensor strided(const at::Tensor& frame, std::int64_t begin, std::int64_t rows,
                     std::int64_t chunks) const {
    return frame.narrow(2, begin, (chunks - 1) * chunk_ + rows)
        .unfold(2, rows, chunk_)
        .permute({0, 2, 1, 4, 3});
  }
  /// The tokens in a window, counted from its first row.
  TokenRange inside(const WindowRun& run, std::int64_t chunk) const {
    const std::int64_t first = chunk * chunk_ - overlap_;
    return {std::max<std::int64_t>(-first, 0), std::min(run.document.size() - first, width_)};
  }
  /// Chunks whose windows are wholly inside the document.
  TokenRange whole_windows(const WindowRun& run) const {
    const std::int64_t first = (overlap_ + chunk_ - 1) / chunk_;
    const std::int64_t inside_tokens = run.document.size() - overlap_;
    return {first, std::max(first, std::min(run.chunks, inside_tokens / chunk_))};
  }

  /// Calls `put(chunk, inside)` for the windows that extend beyond the document.
  template <typename Put>
  void for_each_cut_window(const WindowRun& run, Put put) const {
    const TokenRange whole = whole_windows(run);
    for (std::int64_t chunk = 0; chunk < run.chunks; ++chunk) {
      if (chunk < whole.begin || chunk >= whole.end) put(chunk, inside(run, chunk));
    }
  }

  at::Tensor packed(const at::Tensor& frame) const {
    at::Tensor all = empty_windows();
    for (const WindowRun& run : runs_) {
      const at::Tensor own = windows_of(all, run);
      const TokenRange whole = whole_windows(run);
      const std::int64_t origin = run.document.begin - overlap_;
      if (!whole.empty()) {
        own.narrow(1, whole.begin, whole.size())
            .copy_(strided(frame, origin + whole.begin * chunk_, width_, whole.size()));
      }
      for_each_cut_window(run, [&](std::int64_t chunk, TokenRange rows) {
        const at::Tensor window = own.select(1, chunk);
        window.narrow(2, 0, rows.begin).zero_();
        window.narrow(2, rows.end, width_ - rows.end).zero_();
        window.narrow(2, rows.begin, rows.size())
            .copy_(frame.narrow(2, origin + chunk * chunk_ + rows.begin, rows.size()));
      });
    }
    return all;
  }

  /// Calls `meet(centres, tokens)` for all chunks of a run but the last, which have equal lengths,
  /// and for the last.
  template <typename Meet>
  void for_each_centre(const at::Tensor& all, const at::Tensor& frame, Meet meet) const {
    for (const WindowRun& run : runs_) {
      const at::Tensor own = windows_of(all, run);
      const std::int64_t full = run.document.size() / chunk_;
      const std::int64_t rest = run.document.size() % chunk_;
      if (full > 0) {
        meet(own.narrow(1, 0, full).narrow(3, overlap_, chunk_),
             strided(frame, run.document.begin, chunk_, full));
      }
      if (rest > 0) {
        meet(own.narrow(1, full, 1).narrow(3, overlap_, rest),
             strided(frame, run.document.begin + full * chunk_, rest, 1));
      }
    }
  }
  void put_centres(const at::Tensor& all, const at::Tensor& frame) const {
    for_each_centre(all, frame, [](const at::Tensor& centres, const at::Tensor& tokens) {
      tokens.copy_(centres);
    });
  }
  /// The gradients of the centres; those of the overlaps, which are not part of the output, are 0.
  at::Tensor packed_centres(const at::Tensor& frame) const {
    const at::Tensor all = empty_windows().zero_();
    for_each_centre(all, frame, [](const at::Tensor& centres, const at::Tensor& tokens) {
      centres.copy_(tokens);
    });
    return all;
  }

  /// Adds every window to its tokens, by chunks of its rows, because adjacent windows share tokens.
  void add_windows(const at::Tensor& all, const at::Tensor& sums) const {
    for (const WindowRun& run : runs_) {
      const at::Tensor own = windows_of(all.contiguous(), run);
      const TokenRange whole = whole_windows(run);
      const std::int64_t origin = run.document.begin - overlap_;
      for (WindowPart part; !whole.empty() && part.begin < width_; part.begin += chunk_) {
        part.rows = std::min(chunk_, width_ - part.begin);
        strided(sums, origin + whole.begin * chunk_ + part.begin, part.rows, whole.size())
            .add_(own.narrow(1, whole.begin, whole.size()).narrow(3, part.begin, part.rows));
      }
      for_each_cut_window(run, [&](std::int64_t chunk, TokenRange rows) {
        sums.narrow(2, origin + chunk * chunk_ + rows.begin, rows.size())
            .add_(own.select(1, chunk).narrow(2, rows.begin, rows.size()));
      });
    }
  }

  /// Not in the constructor: a prediction must be available before memory of this size is used.
  void make_mask() {
    if (has_mask_) return;
    at::Tensor mask = at::zeros({count_, 1, 1, width_}, at::kFloat);
    bool hides = false;
    for (const WindowRun& run : runs_) {
      const at::Tensor own = mask.narrow(0, run.first, windows_.items * run.chunks)
                                 .view({windows_.items, run.chunks, width_});
      for_each_cut_window(run, [&](std::int64_t chunk, TokenRange rows) {
        const at::Tensor window = own.select(1, chunk);
        window.narrow(1, 0, rows.begin).fill_(minus_infinity);
        window.narrow(1, rows.end, width_ - rows.end).fill_(minus_infinity);
        hides = true;
      });
    }
    if (hides) mask_ = mask.to(options(scalar_type(problem_.dtype)));
    has_mask_ = true;
  }

  // -- rows that attend to whole groups -----------------------------------------------------------

  static at::Tensor columns(const WholeRows& part, const at::Tensor& frame) {
    if (part.keys.size() == 1) return rows_of(frame, part.keys.front());
    std::vector<at::Tensor> runs;
    runs.reserve(part.keys.size());
    for (const TokenRange& keys : part.keys) runs.push_back(rows_of(frame, keys));
    return at::cat(runs, 2);
  }
  static void add_columns(const WholeRows& part, const at::Tensor& gradient,
                          const at::Tensor& sums) {
    std::int64_t column = 0;
    for (const TokenRange& keys : part.keys) {
      rows_of(sums, keys).add_(gradient.narrow(2, column, keys.size()));
      column += keys.size();
    }
  }

  Problem problem_;
  PackedWindows windows_;
  std::int64_t heads_, chunk_, overlap_, width_, count_;
  std::vector<WindowRun> runs_;
  bool has_mask_ = false;
  std::optional<at::Tensor> mask_;  // [windows, 1, 1, window]; none if no window is padded
  std::vector<Graph> graphs_;       // from a forward call to its backward
};

/// Whether documents attend only to their chunks, and the other groups only to whole groups.
bool is_windows(const AttentionPattern& pattern) {
  if (pattern.has_sentences()) return false;
  for (const TokenGroup from : token_groups) {
    for (const TokenGroup to : token_groups) {
      const GroupRule::Kind kind = pattern.rule(from, to).kind;
      const bool of_documents = from == TokenGroup::document;
      const bool is_chunks = of_documents && to == TokenGroup::document;
      if (is_chunks
              ? kind != GroupRule::Kind::chunks
              : kind != GroupRule::Kind::none && (of_documents || kind != GroupRule::Kind::whole)) {
        return false;
      }
    }
  }
  return true;
}

/// Token ranges of one item, with its own query or the shared one.
struct ItemGroups {
  TokenRange query;
  TokenRange cls{};
  TokenRange documents{};
};

void add_whole_rows(const AttentionPattern& pattern, TokenGroup from, TokenRange rows,
                    const ItemGroups& item, PackedWindows& windows) {
  if (rows.empty()) return;
  std::vector<TokenRange> keys;
  const auto see = [&](TokenGroup to, TokenRange tokens) {
    if (tokens.empty() || pattern.rule(from, to).kind == GroupRule::Kind::none) return;
    if (!keys.empty() && keys.back().end == tokens.begin) {
      keys.back().end = tokens.end;
    } else {
      keys.push_back(tokens);
    }
  };
  // In packed order, so that neighbours are joined: a shared query is before all items.
  const bool query_first = item.query.begin < item.cls.begin;
  if (query_first) see(TokenGroup::query, item.query);
  see(TokenGroup::cls, item.cls);
  if (!query_first) see(TokenGroup::query, item.query);
  see(TokenGroup::document, item.documents);
  windows.whole.push_back({rows, std::move(keys)});
}

}  // namespace

std::int64_t PackedWindows::count() const {
  std::int64_t chunks = 0;
  for (const TokenRange& document : documents) chunks += chunks_of(document);
  return items * chunks;
}

Result<PackedWindows> packed_windows(const Problem& problem) {
  if (problem.pattern.knows_no_groups() || !is_windows(problem.pattern)) {
    return fail(
        "sdpa supports full attention, and documents that attend only to their own chunks; "
        "sdpa-mask "
        "supports pattern {}",
        problem.pattern.name);
  }
  const SequenceLayout& layout = problem.layout;
  const bool uniform = layout.is_uniform() && layout.item_count() > 0;
  PackedWindows windows;
  windows.chunk = problem.pattern.rule(TokenGroup::document, TokenGroup::document).chunk;
  windows.items = uniform ? layout.item_count() : 1;
  windows.frame = uniform ? layout.item_tokens(0) : TokenRange{0, layout.tokens()};
  const TokenRange shared{0, layout.shared_query()};
  if (!shared.empty()) {
    add_whole_rows(problem.pattern, TokenGroup::query, shared, {.query = shared}, windows);
  }
  for (std::int64_t i = 0; i < (uniform ? 1 : layout.item_count()); ++i) {
    const ItemGroups item{
        .query = layout.query(i), .cls = layout.cls(i), .documents = layout.documents(i)};
    add_whole_rows(problem.pattern, TokenGroup::cls, item.cls, item, windows);
    if (shared.empty()) {
      add_whole_rows(problem.pattern, TokenGroup::query, item.query, item, windows);
    }
    for (std::int64_t d = 0; d < layout.document_count(i); ++d) {
      const TokenRange document = layout.document(i, d);
      if (!document.empty()) windows.documents.push_back(document);
    }
  }
  return windows;
}

std::unique_ptr<PreparedAttention> prepare_packed_windows(const Problem& problem,
                                                          PackedWindows windows) {
  return std::make_unique<PreparedWindows>(problem, std::move(windows));
}

}  // namespace attnscope
