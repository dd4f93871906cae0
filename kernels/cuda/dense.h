#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Dense attention on CUDA, the strong ordinary baseline: scores = scale Q K^T by one
// strided-batched cuBLASLt product, mask and softmax in one pass over them in place, times V by
// another product. Products are what LibTorch's matmul computes: factors and results in the
// tensors' dtype, sums in float32 (no TF32); the softmax reads and writes the scores once and
// computes in float32.
//
//   Result<DenseAttention> dense = DenseAttention::prepare(problem);      // a rectangle, a batch
//   DenseMemory memory = {workspace of dense->workspace_bytes(), mask};
//   Status queued = dense->forward({q, k, v, o, lse, memory}, stream);
//   Status then = dense->backward({q, k, v, grad_o, grad_q, grad_k, grad_v, memory}, stream);
//
// A batch of equal items is one DenseAttention, ragged items are one each. All tensors are device
// memory; the current device is used and everything is queued on the caller's stream. Only the
// first call of a shape in this process waits and cannot be captured into a CUDA graph: it chooses
// algorithms by time (docs/cuda-kernels.md). cuBLASLt (540 MB) is loaded by the first prepare, not
// linked.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/base/result.h"
#include "kernels/cuda/stream.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// What becomes of the scores before they meet the values.
enum class DenseWeights : std::uint8_t {
  softmax,  // over the pairs that the mask allows
  product,  // the scores themselves, 0 where the mask refuses: the paper's two products
};

/// Query rows x key columns for every item and head. Item b has its rows and columns
/// b * queries.size() tokens after those of item 0.
struct DenseProblem {
  TokenRange queries{};  // of item 0, in the tensors of rows: q, o, grad_o, grad_q
  TokenRange keys{};     // of item 0, in the tensors of columns: k, v, grad_k, grad_v
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  ConstTensor rows_like{};  // strides, dtype and head_dim of the tensors of rows; data is not read
  ConstTensor columns_like{};  // of those of columns; others than rows_like where keys are gathered
  float scale = 1.0F;
  DenseWeights weights = DenseWeights::softmax;
  /// 0: every pair is allowed; 1: one mask for all heads; heads: one mask each. Shared by items.
  std::int64_t masks = 0;
  Passes passes = Passes::forward;  // forward_backward: backward follows forward
};

/// Device memory of a call.
struct DenseMemory {
  std::byte* workspace = nullptr;  // workspace_bytes(), aligned to 256 bytes
  /// [masks, rows, mask_stride()], 1 allowed, 0 refused, 0 behind a row's last column.
  const std::uint8_t* mask = nullptr;
};

/// Base addresses of whole packed tensors, strided as the problem said; the ranges pick from them.
/// A row that sees no key gets o = 0 and lse = -inf.
struct DenseForward {
  const std::byte* q = nullptr;
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  std::byte* o = nullptr;
  float* lse = nullptr;  // [tokens, heads], natural logarithm; or nullptr. Softmax only
  DenseMemory memory;
};

/// Follows its forward call with the workspace untouched, which holds the weights. Gradients are
/// written, not added to.
struct DenseBackward {
  const std::byte* q = nullptr;
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  const std::byte* grad_o = nullptr;
  std::byte* grad_q = nullptr;
  std::byte* grad_k = nullptr;
  std::byte* grad_v = nullptr;
  DenseMemory memory;
};

struct CublasLt;  // kernels/cuda/dense/cublaslt.h

class DenseAttention {
 public:
  /// Asks for cuBLASLt's algorithms on the current device. Errors: cuBLASLt cannot be loaded or has
  /// no algorithm; sizes that do not fit.
  [[nodiscard]] static Result<DenseAttention> prepare(const DenseProblem& problem);
  /// The same with another library, for tests.
  [[nodiscard]] static Result<DenseAttention> prepare(const DenseProblem& problem,
                                                      const CublasLt& library);

  /// Scores in the tensors' dtype - forward_backward: twice, weights and their gradient - and what
  /// cuBLASLt's first algorithms ask for; none that asks for more is taken.
  [[nodiscard]] std::int64_t workspace_bytes() const;
  /// Bytes from row to row of a mask.
  [[nodiscard]] std::int64_t mask_stride() const;
  /// Floating-point operations of the products: two forward, four more backward.
  [[nodiscard]] double flop() const;

  [[nodiscard]] Status forward(const DenseForward& call, Stream stream) const;
  [[nodiscard]] Status backward(const DenseBackward& call, Stream stream) const;

 private:
  struct Prepared;
  explicit DenseAttention(std::shared_ptr<const Prepared> prepared)
      : prepared_(std::move(prepared)) {}
  std::shared_ptr<const Prepared> prepared_;
};

}  // namespace attnscope::cuda
