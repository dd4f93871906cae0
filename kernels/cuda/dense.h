#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Dense attention on CUDA, the strong conventional baseline: scores = scale Q K^T in one
// strided-batched cuBLASLt product, mask and softmax in place in one pass, then the product with V.
// The products match LibTorch's matmul: operands and results in the tensors' dtype, sums in float32
// (no TF32). The softmax reads and writes the scores once and computes in float32.
//
//   Result<DenseAttention> dense = DenseAttention::prepare(problem);      // a rectangle, a batch
//   DenseMemory memory = {workspace of dense->workspace_bytes(), mask};
//   Status queued = dense->forward({q, k, v, o, lse, memory}, stream);
//   Status then = dense->backward({q, k, v, grad_o, grad_q, grad_k, grad_v, memory}, stream);
//
// A batch of equal items is one DenseAttention; ragged items are one each. All tensors are in
// device memory; the current device is used and all work is queued on the caller's stream. Only the
// first call of a shape in this process synchronises and cannot be captured into a CUDA graph: it
// selects algorithms by timing (docs/cuda-kernels.md). cuBLASLt (540 MB) is loaded by the first
// prepare, not linked.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "kernels/cuda/devices.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// The operation on the scores before the product with the values.
enum class DenseWeights : std::uint8_t {
  softmax,  // over the pairs that the mask allows
  product,  // the scores themselves, 0 for masked pairs: the paper's two products
};

/// Query rows x key columns for every item and head. The rows and columns of item b are b *
/// queries.size() tokens after those of item 0.
struct DenseProblem {
  TokenRange queries{};  // of item 0, in the row tensors: q, o, grad_o, grad_q
  TokenRange keys{};     // of item 0, in the column tensors: k, v, grad_k, grad_v
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  ConstTensor rows_like{};     // strides, dtype and head_dim of the row tensors; data is not read
  ConstTensor columns_like{};  // of the column tensors; differ from rows_like if keys are gathered
  float scale = 1.0F;
  DenseWeights weights = DenseWeights::softmax;
  /// 0: every pair is allowed; 1: one mask for all heads; heads: one mask per head. Shared by
  /// items.
  std::int64_t masks = 0;
  Passes passes = Passes::forward;  // forward_backward: backward follows forward
};

/// Device memory of a call.
struct DenseMemory {
  std::byte* workspace = nullptr;  // workspace_bytes(), aligned to 256 bytes
  /// [masks, rows, mask_stride()], 1 allowed, 0 masked, 0 after a row's last column.
  const std::uint8_t* mask = nullptr;
};

/// Base addresses of whole packed tensors, with the strides of the problem; the ranges select from
/// them. A row without keys gets o = 0 and lse = -inf.
struct DenseForward {
  const std::byte* q = nullptr;
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  std::byte* o = nullptr;
  float* lse = nullptr;  // [tokens, heads], natural logarithm; or nullptr. Only with softmax
  DenseMemory memory;
};

/// Follows its forward call with the same, unchanged workspace, which contains the weights.
/// Gradients are written, not accumulated.
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
  /// Gets cuBLASLt's algorithms for the current device. Errors: cuBLASLt cannot be loaded or has no
  /// algorithm; sizes out of range.
  [[nodiscard]] static Result<DenseAttention> prepare(const DenseProblem& problem);
  /// The same with another library, for tests.
  [[nodiscard]] static Result<DenseAttention> prepare(const DenseProblem& problem,
                                                      const CublasLt& library);

  /// The scores in the tensors' dtype (twice for forward_backward: weights and their gradient) and
  /// the workspace of cuBLASLt's first algorithms; algorithms that need more are not used.
  [[nodiscard]] std::int64_t workspace_bytes() const;
  /// Bytes between rows of a mask.
  [[nodiscard]] std::int64_t mask_stride() const;
  /// Floating-point operations of the products: two forward, four more backward.
  [[nodiscard]] double flop() const;
  /// The algorithms of cuBLASLt that the first calls selected by timing, which another process may
  /// not select: "to scores 21/20/4/1, to rows ...", each as ID/tile/stages/splits. Empty before.
  [[nodiscard]] std::string algorithms() const;

  [[nodiscard]] Status forward(const DenseForward& call, Stream stream) const;
  [[nodiscard]] Status backward(const DenseBackward& call, Stream stream) const;

 private:
  struct Prepared;
  explicit DenseAttention(std::shared_ptr<const Prepared> prepared)
      : prepared_(std::move(prepared)) {}
  std::shared_ptr<const Prepared> prepared_;
};

}  // namespace attnscope::cuda
