// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/dense/dense_on_cuda.h"
#include "engine/attention/dense_torch/prepared_dense.h"
#include "engine/attention/implementation.h"
#include "engine/attention/limits.h"

namespace attnscope {
namespace {

class Dense final : public Implementation {
 public:
  std::string_view id() const override { return "dense"; }

  std::string_view summary() const override {
    return "matmul, softmax, matmul over whole items, one call for a uniform batch and one an "
           "item otherwise; a pattern is a mask applied in place, made once a layout, not timed. "
           "On "
           "the CPU LibTorch's, backward by autograd, gradients copied into place; on CUDA "
           "cuBLASLt's products with one pass of softmax between them";
  }

  Status supports(const Problem& problem) const override {
    return within_build_limits(problem, id());
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    if (problem.device == DeviceKind::cuda) return prepare_dense_on_cuda(problem);
    return prepare_dense_by_libtorch(problem);
  }
};

}  // namespace

const Implementation& dense_implementation() {
  static const Dense dense;
  return dense;
}

}  // namespace attnscope
