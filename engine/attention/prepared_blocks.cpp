// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/prepared_blocks.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace attnscope {
namespace {

/// Gradients of the keys and values of a shared query, summed in float32 over all blocks.
class SharedGradients {
 public:
  void add(const at::Tensor& k, const at::Tensor& v) {
    if (k_.defined()) {
      k_.add_(k);
      v_.add_(v);
    } else {
      k_ = k.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
      v_ = v.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    }
  }
  void write(const at::Tensor& grad_k, const at::Tensor& grad_v) const {
    if (!k_.defined()) return;
    grad_k.copy_(k_);
    grad_v.copy_(v_);
  }

 private:
  at::Tensor k_, v_;
};

}  // namespace

PreparedBlocks::PreparedBlocks(const Problem& problem, bool masked, MaskValues values)
    : problem_(problem),
      heads_(problem.plan.heads),
      blocks_(blocks_of(problem.layout)),
      masked_(masked),
      values_(values),
      tasks_(problem.plan) {}

/// Not in the constructor: a prediction must be available before memory of this size is used.
void PreparedBlocks::make_masks() {
  if (!masked_ || !masks_.empty()) return;
  for (const Block& block : blocks_) {
    masks_.push_back(make_mask(problem_.plan, tasks_, block, problem_.dtype, values_.allowed,
                               values_.refused, torch_device(problem_.device)));
  }
}

Status PreparedBlocks::forward(const ForwardCall& call) {
  use_torch_threads(problem_.threads);
  if (with_gradients()) {
    const c10::AutoGradMode gradients(true);
    make_masks();
    graphs_.clear();
    // Stored only when complete: if memory runs out before, all of it is freed.
    std::vector<Graph> graphs;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      graphs.push_back(make_graph(call, b));
      const Block& block = blocks_[b];
      Attended& left = graphs[b].left;
      view(call.o, block.queries, block.batch).copy_(left.o.detach());
      write_lse(call, block, left.lse, masked_ ? &masks_[b] : nullptr);
      left.lse.reset();  // the backward pass has what it needs of it in the graph
    }
    graphs_ = std::move(graphs);
    return {};
  }
  const c10::InferenceMode no_gradients;
  make_masks();
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    run(call, blocks_[b], masked_ ? &masks_[b] : nullptr);
  }
  return {};
}

PreparedBlocks::Graph PreparedBlocks::make_graph(const ForwardCall& call, std::size_t b) const {
  const Block& block = blocks_[b];
  Graph result;
  const auto leaf = [&](const ConstTensor& tensor, TokenRange range) {
    result.leaves.push_back(view(tensor, range, block.batch).requires_grad_());
    return result.leaves.back();
  };
  const at::Tensor q = leaf(call.q, block.queries);
  at::Tensor k = leaf(call.k, block.own_keys);
  at::Tensor v = leaf(call.v, block.own_keys);
  if (!block.shared_keys.empty()) {
    k = at::cat({leaf(call.k, block.shared_keys), k}, 2);
    v = at::cat({leaf(call.v, block.shared_keys), v}, 2);
  }
  result.left = graph(q, k, v, block, masked_ ? &masks_[b] : nullptr);
  return result;
}

Status PreparedBlocks::backward(const BackwardCall& call) {
  if (graphs_.size() != blocks_.size()) return fail("backward needs a forward call before it");
  use_torch_threads(problem_.threads);
  std::vector<Graph> graphs = std::exchange(graphs_, {});
  const GradientTensors& tensors = call.tensors;
  const TokenRange shared{0, problem_.layout.shared_query()};
  SharedGradients to_shared;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    const at::Tensor arriving = view(tensors.grad_o, block.queries, block.batch);
    const Graph taken = std::move(graphs[b]);
    const auto leaving = torch::autograd::grad({taken.left.o}, taken.leaves, {arriving});
    view(tensors.grad_q, block.queries, block.batch).copy_(leaving[0]);
    if (!shared.empty() && block.own_keys == shared) {
      to_shared.add(leaving[1], leaving[2]);
      continue;
    }
    view(tensors.grad_k, block.own_keys, block.batch).copy_(leaving[1]);
    view(tensors.grad_v, block.own_keys, block.batch).copy_(leaving[2]);
    if (!block.shared_keys.empty()) to_shared.add(leaving[3], leaving[4]);
  }
  if (!shared.empty())
    to_shared.write(view(tensors.grad_k, shared, 1), view(tensors.grad_v, shared, 1));
  return {};
}

void PreparedBlocks::write_lse(const ForwardCall& call, const Block& block, const at::Tensor& lse,
                               const TorchMask* mask) const {
  if (call.lse.empty() || !lse.defined()) return;
  const c10::NoGradGuard no_gradients;
  float* first = call.lse.data() + block.queries.begin * heads_;
  const at::Device device = torch_device(problem_.device);
  const at::Tensor target = at::for_blob(first, {block.batch, block.rows(), heads_})
                                .options(at::TensorOptions().dtype(at::kFloat).device(device))
                                .target_device(device)
                                .make_tensor()
                                .transpose(1, 2);
  target.copy_(lse);
  if (mask == nullptr || !mask->empty_rows.defined()) return;
  target.masked_fill_(mask->empty_rows.squeeze(-1), -std::numeric_limits<float>::infinity());
}

std::int64_t PreparedBlocks::mask_bytes_of(const Block& block) const {
  return masked_ ? mask_bytes(tasks_, block, problem_.dtype, heads_) : 0;
}

std::int64_t PreparedBlocks::allocated_bytes() const {
  std::int64_t lasting = 0;
  std::int64_t passing = 0;
  for (const Block& block : blocks_) {
    const BlockBytes bytes = bytes_of(block);
    lasting += mask_bytes_of(block);
    if (with_gradients()) lasting += bytes.kept;
    passing = std::max(passing, bytes.working + (with_gradients() ? 0 : bytes.kept));
  }
  // The sums of a shared query's keys and values, and one block's contribution to them.
  const std::int64_t shared = 2 * problem_.layout.shared_query() * heads_ * problem_.head_dim *
                              static_cast<std::int64_t>(sizeof(float));
  return lasting + passing + (with_gradients() ? shared : 0) +
         (blocks_.empty() ? 0 : library_bytes());
}

}  // namespace attnscope
