// SPDX-License-Identifier: Apache-2.0
//
// Attention without knowledge of its pattern: two products and a softmax.

#include <ATen/ops/_softmax.h>
#include <ATen/ops/bmm.h>

#include <algorithm>
#include <limits>

#include "engine/attention/implementation.h"
#include "engine/attention/prepared_blocks.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

/// Workspace that LibTorch allocates for cuBLAS from its caching allocator, once per stream
/// (aten/src/ATen/cuda/CublasHandlePool.cpp): 32 MiB on compute capability 9.0, about 8 MiB on
/// others.
constexpr std::int64_t product_workspace_on_cuda = std::int64_t{32} << 20U;

// Added before a softmax, multiplied without one.
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
      // Two products forward; backward the gradients of both operands of each.
      const double products = with_gradients() ? 2 + 4 : 2;
      work.flop += 2 * products * matrices * rows * columns * dim;
      // Passes over the scores: written by one product and read by the other; mask and softmax each
      // read and write.
      double passes = 2.0 + (masked_ ? 2 : 0) + (softmax ? 2 : 0);
      double tensors = 2;  // for rows and for columns, each
      if (with_gradients()) {
        // The weights are read again, and their gradient is written and read twice. The softmax
        // reads both and writes another; a mask factor reads and writes.
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
  /// Scores, and rows that are copied because the products need another layout. Backward the
  /// gradients of weights and scores exist together with those of the values, then with those of
  /// both operands, one of them twice because it is scaled.
  BlockBytes bytes_of(const Block& block) const override {
    const std::int64_t rows = block.rows() * problem_.head_dim;
    const std::int64_t columns = block.columns() * problem_.head_dim;
    const std::int64_t scores = block.rows() * block.columns();
    const bool merged = problem_.memory_order == MemoryOrder::head_major || block.batch == 1;
    std::int64_t kept = scores;
    if (!merged) kept += rows + 2 * columns;
    if (!block.shared_keys.empty()) kept += 2 * columns;
    if (with_gradients() || !writes_directly(block)) kept += rows;
    const std::int64_t working = with_gradients() ? 2 * scores + 2 * rows + 3 * columns : 0;
    const std::int64_t each = block.batch * heads_ * size_of(problem_.dtype);
    return {.kept = each * kept, .working = each * working};
  }

  std::int64_t library_bytes() const override {
    if (on_cuda()) return product_workspace_on_cuda;
    return problem_.dtype == DType::float32 ? 0 : problem_.threads * product_blocks_of_a_thread;
  }

 private:
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

Result<std::unique_ptr<PreparedAttention>> prepare_with_libtorch(const Problem& problem) {
  return std::make_unique<PreparedDense>(problem);
}

}  // namespace

CudaVariant dense_on_cuda();  // dense_on_cuda.cpp

std::vector<Implementation> dense_implementations() {
  return {{.id = "dense",
           .summary = "matmul, softmax, matmul over whole items, one call for a uniform batch, "
                      "otherwise one per item; a pattern is a mask applied in place, made once per "
                      "layout, not timed. On the CPU LibTorch's operations, backward by autograd, "
                      "gradients copied into place; on CUDA cuBLASLt's products with one softmax "
                      "pass between them",
           .prepare = prepare_with_libtorch,
           .on_cuda = ATTNSCOPE_ON_CUDA(dense_on_cuda())},
          {.id = "dense-torch",
           .summary = "LibTorch's matmul, softmax, matmul on either device, one call for a uniform "
                      "batch, otherwise one per item; the mask is made once per layout, not timed; "
                      "backward by autograd, gradients copied into place. The same as dense on the "
                      "CPU",
           .prepare = prepare_with_libtorch}};
}

}  // namespace attnscope
