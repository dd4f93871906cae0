// SPDX-License-Identifier: Apache-2.0
//
// Adapts kernels/cuda/dense.h (cuBLASLt's products with our softmax) to the engine's interface.

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/InferenceMode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/attention/blocks.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/implementation.h"
#include "engine/attention/packed_tensor.h"
#include "engine/attention/torch_tensors.h"
#include "kernels/cuda/dense.h"

namespace attnscope {
namespace {

constexpr std::int64_t alignment = 256;  // of a block's workspace

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Strides of the layout's packed tensors, without data.
ConstTensor packed_like(const Problem& problem) {
  return attnscope::as_const(packed_tensor(problem.layout, problem.plan.heads, problem.head_dim,
                                           problem.dtype, problem.memory_order, nullptr));
}

/// Strides of a block's gathered keys: [heads, columns, dim].
ConstTensor gathered_like(const Problem& problem, const Block& block) {
  ConstTensor like{.data = nullptr, .dtype = problem.dtype, .head_dim = problem.head_dim};
  like.token_stride = problem.head_dim;
  like.head_stride = block.columns() * problem.head_dim;
  return like;
}

/// Whether a block's keys come from the shared query and from the item, so that they must be copied
/// together first.
bool gathers(const Block& block) {
  return !block.shared_keys.empty();
}

cuda::DenseProblem dense_problem(const Problem& problem, const Block& block, std::int64_t masks) {
  const ConstTensor packed = packed_like(problem);
  return {.queries = block.queries,
          .keys = gathers(block) ? TokenRange{0, block.columns()} : block.own_keys,
          .batch = block.batch,
          .heads = problem.plan.heads,
          .rows_like = packed,
          .columns_like = gathers(block) ? gathered_like(problem, block) : packed,
          .scale = problem.scale,
          .weights = problem.operation == Operation::attention ? cuda::DenseWeights::softmax
                                                               : cuda::DenseWeights::product,
          .masks = masks,
          .passes = passes_of(problem.direction)};
}

/// A block's mask in the form of the kernels: 1 where a row attends to a column, one per head if
/// heads differ; rows are `stride` apart.
std::vector<std::byte> mask_of(const Problem& problem, const TaskIndex& tasks, const Block& block,
                               std::int64_t masks, std::int64_t stride) {
  std::vector<std::byte> mask(static_cast<std::size_t>(masks * block.rows() * stride));
  for (std::int64_t head = 0; head < masks; ++head) {
    for (std::int64_t row = 0; row < block.rows(); ++row) {
      const auto line = mask.begin() + (head * block.rows() + row) * stride;
      for (const TokenRange& run :
           visible_columns(problem.plan, tasks, block, row, static_cast<std::int32_t>(head))) {
        std::fill(line + run.begin, line + run.end, std::byte{1});
      }
    }
  }
  return mask;
}

/// A block, its prepared products, and its offset in the caller's workspace.
struct DenseBlock {
  Block block;
  cuda::DenseAttention attention;
  std::int64_t workspace = 0;
  cuda::Block mask;     // on the device, since the first call
  at::Tensor keys{};    // gathered, from a forward call to its backward
  at::Tensor values{};  // the same
};

class PreparedDenseOnCuda final : public PreparedAttention {
 public:
  static Result<std::unique_ptr<PreparedAttention>> make(const Problem& problem) {
    auto prepared = std::unique_ptr<PreparedDenseOnCuda>(new PreparedDenseOnCuda(problem));
    if (Status done = prepared->choose_products(); !done) return tl::unexpected(done.error());
    return prepared;
  }

  std::int64_t workspace_bytes() const override { return workspace_bytes_; }

  std::int64_t allocated_bytes() const override {
    std::int64_t masks = 0;
    std::int64_t gathered = 0;
    std::int64_t gradients = 0;
    for (const DenseBlock& dense : blocks_) {
      masks += masks_ * dense.block.rows() * dense.attention.mask_stride();
      if (!gathers(dense.block)) continue;
      const std::int64_t keys =
          dense.block.columns() * heads_ * problem_.head_dim * size_of(problem_.dtype);
      // Keys and values; with gradients those of all blocks, and two gradients of one block.
      gathered = with_gradients() ? gathered + 2 * keys : std::max(gathered, 2 * keys);
      if (with_gradients()) gradients = std::max(gradients, 2 * keys);
    }
    return masks + gathered + gradients;
  }

  ExecutedWork executed() const override {
    ExecutedWork work;
    const auto element = static_cast<double>(size_of(problem_.dtype));
    const bool softmax = problem_.operation == Operation::attention;
    for (const DenseBlock& dense : blocks_) {
      const auto matrices = static_cast<double>(dense.block.batch * heads_);
      const auto rows = static_cast<double>(dense.block.rows());
      const auto columns = static_cast<double>(dense.block.columns());
      work.flop += dense.attention.flop();
      // Written by one product and read by the other; a softmax or a mask reads and writes.
      const bool weighed = softmax || masks_ > 0;
      double passes = weighed ? 4 : 2;
      double tensors = 2;  // for rows and for columns, each
      if (with_gradients()) {
        // Weights are read again, their gradient is written and read twice; a softmax's gradient
        // reads both and writes, a mask's reads and writes.
        passes += 4.0 + (softmax ? 3 : (masks_ > 0 ? 2 : 0));
        tensors += 4;
      }
      work.bytes += element * matrices *
                    (passes * rows * columns +
                     tensors * (rows + columns) * static_cast<double>(problem_.head_dim));
      work.bytes += static_cast<double>(masks_) * rows * columns;
    }
    return work;
  }

  /// Items of equal lengths have the same products.
  std::string selected() const override {
    std::vector<std::string> each;
    for (const DenseBlock& dense : blocks_) {
      std::string algorithms = dense.attention.algorithms();
      if (!algorithms.empty() && std::ranges::find(each, algorithms) == each.end())
        each.push_back(std::move(algorithms));
    }
    if (each.empty()) return {};
    return fmt::format("cuBLASLt's algorithms (ID/tile/stages/splits): {}", fmt::join(each, "; "));
  }

  Status forward(const ForwardCall& call) override {
    const c10::InferenceMode no_gradients;
    make_masks();
    for (DenseBlock& dense : blocks_) {
      gather(dense, call);
      const cuda::DenseForward operands{
          .q = call.q.data,
          .k = gathers(dense.block) ? bytes_of(dense.keys) : call.k.data,
          .v = gathers(dense.block) ? bytes_of(dense.values) : call.v.data,
          .o = call.o.data,
          .lse = call.lse.empty() || !writes_lse() ? nullptr : call.lse.data(),
          .memory = memory(dense, call.workspace)};
      if (Status done = dense.attention.forward(operands, cuda::current_stream()); !done)
        return done;
      if (with_gradients()) continue;
      dense.keys.reset();
      dense.values.reset();
    }
    return {};
  }

  Status backward(const BackwardCall& call) override {
    const c10::InferenceMode no_gradients;
    const GradientTensors& t = call.tensors;
    SharedSums sums;
    for (DenseBlock& dense : blocks_) {
      const bool apart = gathers(dense.block);
      const bool is_shared = !shared().empty() && dense.block.own_keys == shared();
      const at::Tensor grad_k = apart ? at::empty_like(dense.keys) : at::Tensor();
      const at::Tensor grad_v = apart ? at::empty_like(dense.values) : at::Tensor();
      const cuda::DenseBackward operands{.q = t.q.data,
                                         .k = apart ? bytes_of(dense.keys) : t.k.data,
                                         .v = apart ? bytes_of(dense.values) : t.v.data,
                                         .grad_o = t.grad_o.data,
                                         .grad_q = t.grad_q.data,
                                         .grad_k = apart ? bytes_of(grad_k) : t.grad_k.data,
                                         .grad_v = apart ? bytes_of(grad_v) : t.grad_v.data,
                                         .memory = memory(dense, call.workspace)};
      if (Status done = dense.attention.backward(operands, cuda::current_stream()); !done) {
        return done;
      }
      if (apart) scatter(dense.block, grad_k, grad_v, t, sums);
      if (is_shared) sums.add(view(t.grad_k, shared()), view(t.grad_v, shared()));
      dense.keys.reset();
      dense.values.reset();
    }
    if (sums.k.defined()) {
      view(t.grad_k, shared()).copy_(sums.k);
      view(t.grad_v, shared()).copy_(sums.v);
    }
    return {};
  }

  bool writes_lse() const override { return problem_.operation == Operation::attention; }

 private:
  explicit PreparedDenseOnCuda(const Problem& problem)
      : problem_(problem), heads_(problem.plan.heads), tasks_(problem.plan) {
    if (is_full_attention(problem.layout, problem.plan)) return;
    masks_ = tasks_.differs_by_head() ? heads_ : 1;
  }

  /// Gradients of the keys and values of a shared query, in float32 over all blocks.
  struct SharedSums {
    at::Tensor k, v;
    void add(const at::Tensor& more_k, const at::Tensor& more_v) {
      if (k.defined()) {
        k.add_(more_k);
        v.add_(more_v);
      } else {
        k = more_k.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
        v = more_v.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
      }
    }
  };

  Status choose_products() {
    for (const Block& block : blocks_of(problem_.layout)) {
      auto attention = cuda::DenseAttention::prepare(dense_problem(problem_, block, masks_));
      if (!attention) return tl::unexpected(attention.error());
      const std::int64_t bytes = aligned(attention->workspace_bytes());
      // With forward only, blocks share one workspace; with backward, each block's weights are
      // kept.
      const std::int64_t place = with_gradients() ? workspace_bytes_ : 0;
      workspace_bytes_ =
          with_gradients() ? workspace_bytes_ + bytes : std::max(workspace_bytes_, bytes);
      blocks_.push_back({.block = block,
                         .attention = std::move(*attention),
                         .workspace = place,
                         .mask = cuda::Block()});
    }
    return {};
  }

  void make_masks() {
    if (masks_ == 0) return;
    for (DenseBlock& dense : blocks_) {
      if (dense.mask.data() == nullptr) {
        dense.mask = cuda::copied_before_capture(
            mask_of(problem_, tasks_, dense.block, masks_, dense.attention.mask_stride()),
            "the first call of a problem, which copies its masks,");
      }
      if (cuda::is_capturing()) dense.mask.keep();
    }
  }

  void gather(DenseBlock& dense, const ForwardCall& call) const {
    if (!gathers(dense.block)) return;
    const at::Device device = torch_device(DeviceKind::cuda);
    dense.keys = columns_of(call.k, dense.block, heads_, device);
    dense.values = columns_of(call.v, dense.block, heads_, device);
  }

  /// Adds the gradients of gathered keys and values to those of their sources.
  void scatter(const Block& block, const at::Tensor& grad_k, const at::Tensor& grad_v,
               const GradientTensors& t, SharedSums& sums) const {
    const std::int64_t shared_columns = block.shared_keys.size();
    const std::int64_t own_columns = block.own_keys.size();
    view(t.grad_k, block.own_keys).copy_(grad_k.narrow(2, shared_columns, own_columns));
    view(t.grad_v, block.own_keys).copy_(grad_v.narrow(2, shared_columns, own_columns));
    sums.add(grad_k.narrow(2, 0, shared_columns), grad_v.narrow(2, 0, shared_columns));
  }

  [[nodiscard]] at::Tensor view(const Tensor& tensor, TokenRange range) const {
    return view_of(tensor, range, 1, heads_, torch_device(DeviceKind::cuda));
  }
  static std::byte* bytes_of(const at::Tensor& tensor) {
    return static_cast<std::byte*>(tensor.data_ptr());
  }
  [[nodiscard]] TokenRange shared() const { return {0, problem_.layout.shared_query()}; }
  [[nodiscard]] bool with_gradients() const {
    return problem_.direction == Direction::forward_backward;
  }
  [[nodiscard]] cuda::DenseMemory memory(const DenseBlock& dense,
                                         std::span<std::byte> workspace) const {
    return {.workspace = workspace.data() + dense.workspace,
            .mask = reinterpret_cast<const std::uint8_t*>(dense.mask.data())};
  }

  Problem problem_;
  std::int64_t heads_;
  TaskIndex tasks_;
  std::int64_t masks_ = 0;
  std::vector<DenseBlock> blocks_;
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace

CudaVariant dense_on_cuda() {
  return {.supports = {}, .prepare = PreparedDenseOnCuda::make};
}

}  // namespace attnscope
