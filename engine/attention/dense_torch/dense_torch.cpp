// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/dense_torch/prepared_dense.h"
#include "engine/attention/implementation.h"
#include "engine/attention/limits.h"

namespace attnscope {
namespace {

class DenseTorch final : public Implementation {
 public:
  std::string_view id() const override { return "dense-torch"; }

  std::string_view summary() const override {
    return "LibTorch's matmul, softmax, matmul on either device, one call for a uniform batch and "
           "one an item otherwise; the mask is made once a layout, not timed; backward by "
           "autograd, "
           "gradients copied into place. On the CPU it is what dense is";
  }

  Status supports(const Problem& problem) const override {
    return within_build_limits(problem, id());
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    return prepare_dense_by_libtorch(problem);
  }
};

}  // namespace

const Implementation& dense_torch_implementation() {
  static const DenseTorch dense_torch;
  return dense_torch;
}

}  // namespace attnscope
