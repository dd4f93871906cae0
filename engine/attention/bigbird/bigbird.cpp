// SPDX-License-Identifier: Apache-2.0
//
// BigBird's block-sparse attention as its authors compute it (Zaheer et al., NeurIPS 2020, appendix
// D): the keys of a block of rows are gathered, so that the work is done in dense products of
// blocks. The second and the second-to-last block have a separate product, because they attend to
// one block less than the middle ones; all keys of a row are under one softmax.

#include <ATen/ops/_softmax.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/attention/bigbird/block_structure.h"
#include "engine/attention/implementation.h"
#include "engine/attention/prepared_blocks.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

/// A part of a group, or a run with full attention.
struct Piece {
  PartShape shape;
  bool gathers = false;  // its columns are a copy

  [[nodiscard]] std::int64_t row_values(const Problem& problem) const {
    return shape.products * shape.rows * problem.head_dim;
  }
  [[nodiscard]] std::int64_t column_values(const Problem& problem) const {
    return shape.products * shape.columns * problem.head_dim;
  }
};

bool with_gradients(const Problem& problem) {
  return problem.direction == Direction::forward_backward;
}

std::vector<Piece> pieces_of(const Problem& problem, const BlockGroup& group) {
  const std::int64_t heads = problem.plan.heads;
  std::vector<Piece> pieces;
  if (group.blocks > 0) {
    for (const BlockPart part : block_parts) {
      pieces.push_back({BlockParts::shape(group, heads, part), part != BlockPart::outer});
    }
    return pieces;
  }
  for (const ItemRun& run : group.runs) {
    const bool views = run.count == 1 || problem.memory_order == MemoryOrder::head_major;
    pieces.push_back({{run.count * heads, run.first.size(), run.first.size()}, !views});
  }
  return pieces;
}

/// Number of values of a tensor with all blocks of a group, padding included.
std::int64_t block_values(const Problem& problem, const BlockGroup& group) {
  return group.items() * problem.plan.heads * group.blocks * group.length * problem.head_dim;
}

/// Whether a tensor of blocks is a copy: the layout's tensor is not head-major, or has no padding.
bool copies_blocks(const Problem& problem, const BlockGroup& group) {
  if (group.blocks == 0) return false;
  return problem.memory_order != MemoryOrder::head_major || !problem.layout.is_uniform() ||
         group.last_block_tokens(group.runs.front()) != group.length;
}

ExecutedWork bigbird_work(const Problem& problem, const BlockStructure& structure) {
  ExecutedWork work;
  const auto element = static_cast<double>(size_of(problem.dtype));
  const bool softmax = problem.operation == Operation::attention;
  const bool both = with_gradients(problem);
  for (const BlockGroup& group : structure.groups) {
    const auto blocks = static_cast<double>(block_values(problem, group));
    for (const Piece& piece : pieces_of(problem, group)) {
      const auto scores = static_cast<double>(piece.shape.scores());
      const auto rows = static_cast<double>(piece.row_values(problem));
      const auto columns = static_cast<double>(piece.column_values(problem));
      // Two products forward; backward the gradients of both operands of each.
      work.flop += (both ? 6.0 : 2.0) * 2 * scores * static_cast<double>(problem.head_dim);
      // Scores are written by one product and read by the other; a softmax reads and writes them.
      double of_scores = softmax ? 4 : 2;
      // Rows are copied out of and into the tensor; gathered columns are read, written and read.
      double of_rows = 6;
      double of_columns = piece.gathers ? 6 : 2;
      if (both) {
        // Weights are read again, and their gradient is written and read twice; the softmax reads
        // both and writes another.
        of_scores += 4.0 + (softmax ? 3 : 0);
        // q again; grad_o copied and read twice; grad_q written, scaled and copied back.
        of_rows += 1 + 4 + 5;
        // k and v again; their gradients written, one of them scaled, and both read for the sums.
        of_columns += 2 + 2 + 2 + 2;
      }
      work.bytes += element * (of_scores * scores + of_rows * rows + of_columns * columns);
    }
    if (copies_blocks(problem, group)) work.bytes += (both ? 4 : 3) * 2 * element * blocks;
    if (both) work.bytes += 2 * (2 * 4 + element) * blocks;  // sums: cleared, read, copied out
  }
  return work;
}

/// Upper bound, lists of the layout included.
std::int64_t bigbird_peak_bytes(const Problem& problem, const BlockStructure& structure) {
  const std::int64_t element = size_of(problem.dtype);
  const bool both = with_gradients(problem);
  std::int64_t kept = 0;
  std::int64_t working = 0;
  for (const BlockGroup& group : structure.groups) {
    const std::int64_t padded = copies_blocks(problem, group) ? block_values(problem, group) : 0;
    // Gradients of keys and values are summed in float32.
    const std::int64_t sums = group.blocks > 0 ? 2 * 4 * block_values(problem, group) : 0;
    if (group.blocks > 0) kept += BlockParts::index_bytes(group, problem.plan.heads);
    if (both) kept += element * 2 * padded;
    for (const Piece& piece : pieces_of(problem, group)) {
      const std::int64_t scores = piece.shape.scores();
      const std::int64_t rows = piece.row_values(problem);
      const std::int64_t columns = piece.column_values(problem);
      const std::int64_t gathered = piece.gathers ? columns : 0;
      if (!both) {
        working = std::max(working, element * (3 * padded + scores + gathered + 2 * rows));
        continue;
      }
      kept += element * (scores + 2 * gathered + 2 * rows);
      working = std::max(
          working, element * (2 * scores + 3 * columns + 2 * rows + padded) + 4 * gathered + sums);
    }
  }
  const bool library = problem.dtype != DType::float32 && !structure.groups.empty();
  return kept + working + (library ? problem.threads * product_blocks_of_a_thread : 0);
}

/// Creates the columns on use, so that they are freed after their product.
using Columns = std::function<at::Tensor()>;
using Hide = std::function<void(const at::Tensor& scores)>;

class PreparedBigBird final : public PreparedAttention {
 public:
  PreparedBigBird(const Problem& problem, BlockStructure structure)
      : problem_(problem), heads_(problem.plan.heads), structure_(std::move(structure)) {}

  std::int64_t workspace_bytes() const override { return 0; }
  bool writes_lse() const override { return false; }
  ExecutedWork executed() const override { return bigbird_work(problem_, structure_); }
  std::int64_t allocated_bytes() const override { return bigbird_peak_bytes(problem_, structure_); }

  Status forward(const ForwardCall& call) override {
    use_torch_threads(problem_.threads);
    make_parts();
    graphs_.clear();
    if (with_gradients()) {
      const c10::NoGradGuard only_where_requested;
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
    if (graphs_.empty() && !structure_.groups.empty()) {
      return fail("backward needs a forward call before it");
    }
    use_torch_threads(problem_.threads);
    const c10::NoGradGuard only_where_requested;
    std::vector<Graph> graphs = std::exchange(graphs_, {});
    auto graph = graphs.begin();
    for (std::size_t g = 0; g < structure_.groups.size(); ++g) {
      const BlockGroup& group = structure_.groups[g];
      if (group.blocks > 0) {
        blocks_backward(call.tensors, group, *parts_[g], graph);
      } else {
        for (const ItemRun& run : group.runs) full_backward(call.tensors, run, *graph++);
      }
    }
    return {};
  }

 private:
  /// One part of a group, or one run of full attention.
  struct Graph {
    std::array<at::Tensor, 3> leaves;  // q, k, v
    at::Tensor o;
  };

  bool with_gradients() const { return problem_.direction == Direction::forward_backward; }

  template <typename AnyTensor>
  at::Tensor view(const AnyTensor& tensor, const ItemRun& run) const {
    return view_of(tensor, run.first, run.count, heads_, torch_device(problem_.device));
  }

  /// Not in the constructor: a prediction must be available before memory of this size is used.
  void make_parts() {
    if (!parts_.empty()) return;
    // Stored only when complete: memory may run out before.
    std::vector<std::optional<BlockParts>> parts(structure_.groups.size());
    for (std::size_t g = 0; g < parts.size(); ++g) {
      const BlockGroup& group = structure_.groups[g];
      if (group.blocks > 0) parts[g].emplace(group, heads_, torch_device(problem_.device));
    }
    parts_ = std::move(parts);
  }

  void compute(const ForwardCall& call, std::vector<Graph>* graphs) const {
    for (std::size_t g = 0; g < structure_.groups.size(); ++g) {
      const BlockGroup& group = structure_.groups[g];
      if (group.blocks > 0) {
        blocks_forward(call, group, *parts_[g], graphs);
      } else {
        for (const ItemRun& run : group.runs) full_forward(call, run, graphs);
      }
    }
  }

  // -- items of blocks ----------------------------------------------------------------------------

  /// [items * heads, blocks, length, dim] for all items of a group, whose last blocks are padded
  /// with zeros: the tensor itself if it has this form.
  template <typename AnyTensor>
  at::Tensor blocks_of(const AnyTensor& tensor, const BlockGroup& group) const {
    const std::int64_t tokens = group.blocks * group.length;
    const std::array<std::int64_t, 4> sizes{group.items() * heads_, group.blocks, group.length,
                                            problem_.head_dim};
    const at::Tensor first = view(tensor, group.runs.front());
    const bool is_whole = group.runs.size() == 1 && first.size(2) == tokens;
    if (is_whole) return first.contiguous().view(sizes);
    at::Tensor padded =
        at::empty({group.items(), heads_, tokens, problem_.head_dim}, first.options());
    for (const ItemRun& run : group.runs) {
      const at::Tensor items = padded.narrow(0, run.before, run.count);
      const std::int64_t own = run.first.size();
      items.narrow(2, 0, own).copy_(view(tensor, run));
      if (own < tokens) items.narrow(2, own, tokens - own).zero_();
    }
    return padded.view(sizes);
  }

  void blocks_forward(const ForwardCall& call, const BlockGroup& group, const BlockParts& parts,
                      std::vector<Graph>* graphs) const {
    const at::Tensor q = blocks_of(call.q, group);
    const at::Tensor k = blocks_of(call.k, group);
    const at::Tensor v = blocks_of(call.v, group);
    for (const BlockPart part : block_parts) {
      const Hide hide = [&](const at::Tensor& scores) { parts.hide_padding(part, scores); };
      at::Tensor o;
      if (graphs != nullptr) {
        o = keep(*graphs, parts.rows(part, q), parts.columns(part, k), parts.columns(part, v),
                 hide);
      } else {
        o = attend(
            parts.rows(part, q), [&] { return parts.columns(part, k); },
            [&] { return parts.columns(part, v); }, hide);
      }
      put(part, parts, group, o, call.o);
    }
  }

  void blocks_backward(const GradientTensors& tensors, const BlockGroup& group,
                       const BlockParts& parts, std::vector<Graph>::iterator& graph) const {
    const at::Tensor arriving = blocks_of(tensors.grad_o, group);
    // In float32, because the first and the last block sum the gradients of all rows.
    const at::Tensor to_keys = at::zeros(arriving.sizes(), arriving.options().dtype(at::kFloat));
    const at::Tensor to_values = at::zeros_like(to_keys);
    for (const BlockPart part : block_parts) {
      const Graph taken = std::move(*graph++);
      const auto leaving = torch::autograd::grad(
          {taken.o}, {taken.leaves.begin(), taken.leaves.end()}, {parts.rows(part, arriving)});
      put(part, parts, group, leaving[0], tensors.grad_q);
      parts.add_columns(part, leaving[1], to_keys);
      parts.add_columns(part, leaving[2], to_values);
    }
    for (const ItemRun& run : group.runs) {
      const auto take = [&](const at::Tensor& sums) {
        return sums.view({group.items(), heads_, group.blocks * group.length, problem_.head_dim})
            .narrow(0, run.before, run.count)
            .narrow(2, 0, run.first.size());
      };
      view(tensors.grad_k, run).copy_(take(to_keys));
      view(tensors.grad_v, run).copy_(take(to_values));
    }
  }

  void put(BlockPart part, const BlockParts& parts, const BlockGroup& group, const at::Tensor& rows,
           const Tensor& target) const {
    for (const ItemRun& run : group.runs) parts.put_rows(part, rows, run, view(target, run));
  }

  // -- items of full attention --------------------------------------------------------------------

  void full_forward(const ForwardCall& call, const ItemRun& run, std::vector<Graph>* graphs) const {
    const at::Tensor target = view(call.o, run);
    const at::Tensor q = as_matrices(view(call.q, run));
    const Hide nothing = [](const at::Tensor&) {};
    at::Tensor o;
    if (graphs != nullptr) {
      o = keep(*graphs, q, as_matrices(view(call.k, run)), as_matrices(view(call.v, run)), nothing);
    } else {
      o = attend(
          q, [&] { return as_matrices(view(call.k, run)); },
          [&] { return as_matrices(view(call.v, run)); }, nothing);
    }
    target.copy_(o.view(target.sizes()));
  }

  void full_backward(const GradientTensors& tensors, const ItemRun& run, Graph& graph) const {
    const Graph taken = std::move(graph);
    const auto leaving =
        torch::autograd::grad({taken.o}, {taken.leaves.begin(), taken.leaves.end()},
                              {as_matrices(view(tensors.grad_o, run))});
    const auto put_all = [&](const Tensor& gradient, const at::Tensor& values) {
      const at::Tensor target = view(gradient, run);
      target.copy_(values.view(target.sizes()));
    };
    put_all(tensors.grad_q, leaving[0]);
    put_all(tensors.grad_k, leaving[1]);
    put_all(tensors.grad_v, leaving[2]);
  }

  // -- both ---------------------------------------------------------------------------------------

  /// One softmax per row over all of its columns, in place; none for operation windowed-matmul.
  at::Tensor attend(const at::Tensor& q, const Columns& k, const Columns& v,
                    const Hide& hide) const {
    at::Tensor scores = scaled_product(q, k().transpose(1, 2), problem_.scale);
    if (problem_.operation == Operation::attention) {
      hide(scores);
      at::_softmax_out(scores, scores, -1, /*half_to_float=*/false);
    }
    return at::bmm(scores, v());
  }

  /// The same as a graph for autograd, with q, k and v as its leaves.
  at::Tensor keep(std::vector<Graph>& graphs, const at::Tensor& q, const at::Tensor& k,
                  const at::Tensor& v, const Hide& hide) const {
    const c10::AutoGradMode gradients(true);
    Graph graph{.leaves = {q.detach().requires_grad_(), k.detach().requires_grad_(),
                           v.detach().requires_grad_()},
                .o = {}};
    at::Tensor weights =
        scaled_product_in_graph(graph.leaves[0], graph.leaves[1].transpose(1, 2), problem_.scale);
    if (problem_.operation == Operation::attention) {
      hide(weights);
      weights = at::_softmax(weights, -1, /*half_to_float=*/false);
    }
    graph.o = at::bmm(weights, graph.leaves[2]);
    graphs.push_back(std::move(graph));
    return graphs.back().o.detach();
  }

  Problem problem_;
  std::int64_t heads_;
  BlockStructure structure_;
  std::vector<std::optional<BlockParts>> parts_;  // by group of blocks, kept between calls
  std::vector<Graph> graphs_;                     // from a forward call to its backward
};

Result<BlockStructure> blocks_for(const Problem& problem) {
  Result<BlockStructure> structure = block_structure(problem.plan, problem.layout);
  if (structure) return structure;
  return fail(
      "bigbird supports blocks that attend to whole blocks, and full attention; pattern '{}' on "
      "this layout has neither: {}",
      problem.pattern.name, structure.error().message);
}

}  // namespace

std::vector<Implementation> bigbird_implementations() {
  return {on_structure<PreparedBigBird, blocks_for>(
      "bigbird",
      "BigBird's block-sparse attention in LibTorch's operations: padding to whole blocks, "
      "gathering each row block's keys and values, dense products of blocks with one "
      "softmax per row, all timed; the lists of random blocks are made once per layout, not "
      "timed. Items with the same number of blocks are computed together, others group by "
      "group, and items with full attention by matmul, softmax, matmul; backward by autograd, "
      "keys' gradients summed in float32")};
}

}  // namespace attnscope
