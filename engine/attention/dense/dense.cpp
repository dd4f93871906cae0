// SPDX-License-Identifier: Apache-2.0
//
// The baseline everyone writes first: scores = scale Q K^T, mask, softmax, times V, with LibTorch's
// matrix products. Written as a careful engineer would: the scale rides in the product, mask and
// softmax work in place, so that one score matrix is all the memory it takes.

#include "engine/attention/dense/dense.h"

#include <ATen/ops/_softmax.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>

#include "engine/attention/limits.h"
#include "engine/attention/prepared_blocks.h"

namespace attnscope {
namespace {

// The products of 16-bit matrices go through oneDNN, which packs operands and accumulates in
// float32 in blocks of a thread's own: up to 1.3 MB a thread was seen (LibTorch 2.15, AVX-512, n <=
// 4096).
constexpr std::int64_t blocks_of_a_thread = 1'500'000;

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// [batch, heads, n, dim] as [batch*heads, n, dim]; a copy where the strides do not allow a view.
at::Tensor as_matrices(const at::Tensor& view) {
  return view.reshape({view.size(0) * view.size(1), view.size(2), view.size(3)});
}

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
      work.flop += 4 * matrices * rows * columns * dim;
      // Passes over the scores: written by one product and read by the other; mask and softmax each
      // read and write.
      const double passes = 2.0 + (masked_ ? 2 : 0) + (softmax ? 2 : 0);
      work.bytes += element * matrices * (passes * rows * columns + 2 * (rows + columns) * dim);
      work.bytes += static_cast<double>(mask_bytes_of(block));
    }
    return work;
  }

  std::int64_t predicted_peak_bytes() const override {
    std::int64_t masks = 0;
    std::int64_t largest = 0;
    for (const Block& block : blocks_) {
      masks += mask_bytes_of(block);
      const std::int64_t scores = block.rows() * block.columns();
      const bool merged = problem_.memory_order == MemoryOrder::head_major || block.batch == 1;
      std::int64_t copied = 0;  // rows of head_dim
      if (!merged) copied += block.rows() + 2 * block.columns();
      if (!block.shared_keys.empty()) copied += 2 * block.columns();
      if (!writes_directly(block)) copied += block.rows();
      largest = std::max(largest, block.batch * heads_ * (scores + copied * problem_.head_dim));
    }
    const std::int64_t library = problem_.dtype == DType::float32 || blocks_.empty()
                                     ? 0
                                     : problem_.threads * blocks_of_a_thread;
    return masks + largest * size_of(problem_.dtype) + library;
  }

 private:
  /// Whether the rows of a block are contiguous matrices in o, so that the product can write there.
  bool writes_directly(const Block& block) const {
    if (heads_ == 1) return true;
    return problem_.memory_order == MemoryOrder::head_major &&
           block.rows() * block.batch == problem_.layout.tokens();
  }

  void run(const ForwardCall& call, const Block& block, const TorchMask* mask) const override {
    const at::Tensor q = as_matrices(view_of(call.q, block.queries, block.batch, heads_));
    const at::Tensor k = as_matrices(columns_of(call.k, block, heads_));
    const at::Tensor v = as_matrices(columns_of(call.v, block, heads_));
    at::Tensor scores = at::empty({q.size(0), block.rows(), block.columns()}, q.options());
    at::baddbmm_out(scores, scores, q, k.transpose(1, 2), /*beta=*/0, problem_.scale);
    weigh(scores, block, mask);

    at::Tensor o = view_of(call.o, block.queries, block.batch, heads_);
    if (o.is_contiguous()) {
      at::Tensor matrices = o.view({q.size(0), block.rows(), problem_.head_dim});
      at::bmm_out(matrices, scores, v);
    } else {
      o.copy_(at::bmm(scores, v).view(o.sizes()));
    }
    // The softmax of a row without keys is 0/0.
    if (mask != nullptr && mask->empty_rows.defined()) o.masked_fill_(mask->empty_rows, 0);
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

class Dense final : public Implementation {
 public:
  std::string_view id() const override { return "dense"; }

  std::string_view summary() const override {
    return "LibTorch matmul, softmax, matmul over whole items, one call for a uniform batch and "
           "one an item otherwise; a pattern is a mask added in place, made once a layout, not "
           "timed";
  }

  Status supports(const Problem& problem) const override {
    return within_build_limits(problem, id());
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    return std::make_unique<PreparedDense>(problem);
  }
};

}  // namespace

const Implementation& dense_implementation() {
  static const Dense dense;
  return dense;
}

}  // namespace attnscope
