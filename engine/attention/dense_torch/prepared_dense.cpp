// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/dense_torch/prepared_dense.h"

#include <ATen/ops/_softmax.h>
#include <ATen/ops/bmm.h>

#include <algorithm>
#include <limits>

#include "engine/attention/prepared_blocks.h"
#include "engine/attention/torch_products.h"

namespace attnscope {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// What LibTorch gives cuBLAS from its caching allocator, once a stream
/// (aten/src/ATen/cuda/CublasHandlePool.cpp): 32 MiB on compute capability 9.0, about 8 MiB
/// elsewhere.
constexpr std::int64_t product_workspace_on_cuda = std::int64_t{32} << 20U;

// Added before a softmax, multiplied where there is none.
MaskValues mask_values(Operation operation) {
  return operation == Operation::attention ? MaskValues{0.0F, minus_infinity}
                                           : MaskValues{1.0F, 0.0F};
}

class PreparedDense final : public PreparedBlocks {
 public:
  explicit PreparedDense(const Problem& problem)
      : PreparedBlocks(problem, !is_full_attention(problem.layout, problem.plan),
                       mask_values(problem.operation)) {}

  ExecutedWork executed() const override {
    ExecutedWork work;
    const auto element = static_cast<double>(size_of(problem_.dtype));
    const bool softmax = problem_.operation == Operation::attention;
    for (const Block& block : blocks_) {
      const double matrices = static_cast<double>(block.batch * heads_);
      const auto rows = static_cast<double>(block.rows());
      const auto columns = static_cast<double>(block.columns());
      const auto dim = static_cast<double>(problem_.head_dim);
      // Two products forward; backward the gradients of both factors of each.
      const double products = with_gradients() ? 2 + 4 : 2;
      work.flop += 2 * products * matrices * rows * columns * dim;
      // Passes over the scores: written by one product and read by the other; mask and softmax each
      // read and write.
      double passes = 2.0 + (masked_ ? 2 : 0) + (softmax ? 2 : 0);
      double tensors = 2;  // of rows, and of columns
      if (with_gradients()) {
        // The weights are read once more and their gradient is written and read twice. The softmax
        // reads both and writes another; a factor reads and writes.
        passes += 4.0 + (softmax ? 3 : 0) + (masked_ && !softmax ? 2 : 0);
        tensors += 4;
      }
      work.bytes +=
          element * matrices * (passes * rows * columns + tensors * (rows + columns) * dim);
      work.bytes += static_cast<double>(mask_bytes_of(block));
    }
    return work;
  }

 protected:
  std::int64_t run_bytes(const Block& block) const override {
    std::int64_t copied = copied_rows(block);
    if (!block.shared_keys.empty()) copied += 2 * block.columns();
    if (!writes_directly(block)) copied += block.rows();
    return bytes_of(block, scores_of(block) + copied * problem_.head_dim);
  }

  GraphBytes graph_bytes(const Block& block) const override {
    const std::int64_t scores = scores_of(block);
    const std::int64_t rows = block.rows() * problem_.head_dim;
    const std::int64_t columns = block.columns() * problem_.head_dim;
    const bool copies = copied_rows(block) > 0;
    const bool shared = !block.shared_keys.empty();
    const std::int64_t kept =
        copied_rows(block) * problem_.head_dim + (shared ? 2 * columns : 0) + rows + scores;
    const bool softmax = problem_.operation == Operation::attention;
    // From product to product: the weights' gradient and grad_v; then the scores' gradient beside
    // both, without the values; then grad_q and grad_k, one of them twice as it is scaled.
    const std::int64_t values = (copies ? columns : 0) + (shared ? columns : 0);
    const std::int64_t weights_gradient = scores + columns + (copies ? rows : 0);
    const std::int64_t scores_gradient =
        (softmax ? 2 : (masked_ ? 1 : 0)) * scores + columns - values;
    const std::int64_t last_gradients = rows + 2 * columns + std::max(rows, columns) - values;
    return {
        .kept = bytes_of(block, kept),
        .forward = bytes_of(block, softmax || masked_ ? scores : 0),
        .backward = bytes_of(block, std::max({weights_gradient, scores_gradient, last_gradients}))};
  }

  std::int64_t library_bytes() const override {
    if (on_cuda()) return product_workspace_on_cuda;
    return problem_.dtype == DType::float32 ? 0 : problem_.threads * product_blocks_of_a_thread;
  }

 private:
  static std::int64_t scores_of(const Block& block) { return block.rows() * block.columns(); }

  /// Rows of head_dim that become matrices of their own before the products.
  std::int64_t copied_rows(const Block& block) const {
    const bool merged = problem_.memory_order == MemoryOrder::head_major || block.batch == 1;
    return merged ? 0 : block.rows() + 2 * block.columns();
  }

  /// Bytes of that many values for each matrix of the block.
  std::int64_t bytes_of(const Block& block, std::int64_t values) const {
    return block.batch * heads_ * values * size_of(problem_.dtype);
  }

  /// Whether the rows of a block are contiguous matrices in o, so that the product can write there.
  bool writes_directly(const Block& block) const {
    if (heads_ == 1) return true;
    return problem_.memory_order == MemoryOrder::head_major &&
           block.rows() * block.batch == problem_.layout.tokens();
  }

  void run(const ForwardCall& call, const Block& block, const TorchMask* mask) const override {
    const at::Tensor q = as_matrices(view(call.q, block.queries, block.batch));
    const at::Tensor k = as_matrices(view_columns(call.k, block));
    const at::Tensor v = as_matrices(view_columns(call.v, block));
    at::Tensor scores = scaled_product(q, k.transpose(1, 2), problem_.scale);
    weigh(scores, block, mask);

    at::Tensor o = view(call.o, block.queries, block.batch);
    if (o.is_contiguous()) {
      at::Tensor matrices = o.view({q.size(0), block.rows(), problem_.head_dim});
      at::bmm_out(matrices, scores, v);
    } else {
      o.copy_(at::bmm(scores, v).view(o.sizes()));
    }
    if (mask != nullptr && mask->empty_rows.defined()) o.masked_fill_(mask->empty_rows, 0);
  }

  Attended graph(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Block& block,
                 const TorchMask* mask) const override {
    at::Tensor weights =
        scaled_product_in_graph(as_matrices(q), as_matrices(k).transpose(1, 2), problem_.scale);
    const bool softmax = problem_.operation == Operation::attention;
    if (mask != nullptr) {
      const at::Tensor by_head = weights.view({block.batch, heads_, block.rows(), block.columns()});
      weights = (softmax ? by_head.add(mask->mask) : by_head.mul(mask->mask)).view(weights.sizes());
    }
    if (softmax) weights = at::_softmax(weights, -1, /*half_to_float=*/false);
    const at::Tensor o = at::bmm(weights, as_matrices(v)).view(q.sizes());
    const bool empty_rows = mask != nullptr && mask->empty_rows.defined();
    return {.o = empty_rows ? o.masked_fill(mask->empty_rows, 0) : o, .lse = {}};
  }

  void weigh(at::Tensor& scores, const Block& block, const TorchMask* mask) const {
    const bool softmax = problem_.operation == Operation::attention;
    if (mask != nullptr) {
      at::Tensor by_head = scores.view({block.batch, heads_, block.rows(), block.columns()});
      if (softmax) {
        by_head.add_(mask->mask);
      } else {
        by_head.mul_(mask->mask);
      }
    }
    if (softmax) at::_softmax_out(scores, scores, -1, /*half_to_float=*/false);
  }
};

}  // namespace

std::unique_ptr<PreparedAttention> prepare_dense_by_libtorch(const Problem& problem) {
  return std::make_unique<PreparedDense>(problem);
}

}  // namespace attnscope
