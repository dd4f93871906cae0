// SPDX-License-Identifier: Apache-2.0

#include "engine/attention/implementation.h"
#include "engine/attention/limits.h"
#include "engine/attention/sdpa/prepared_sdpa.h"

namespace attnscope {
namespace {

class SdpaWithMask final : public Implementation {
 public:
  std::string_view id() const override { return "sdpa-mask"; }

  std::string_view summary() const override {
    return "LibTorch scaled_dot_product_attention with the pattern as its mask, made once a layout "
           "as LibTorch would convert a boolean one, and not timed; result copied into place; "
           "backward by autograd, gradients copied too";
  }

  Status supports(const Problem& problem) const override {
    if (const Status ok = within_build_limits(problem, id()); !ok) return ok;
    if (problem.operation == Operation::windowed_matmul) {
      return fail("sdpa-mask is fused: it has no separate products for windowed-matmul");
    }
    return {};
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    return prepare_sdpa(problem, SdpaKernel::chosen_by_libtorch, /*masked=*/true);
  }
};

}  // namespace

const Implementation& sdpa_mask_implementation() {
  static const SdpaWithMask sdpa_mask;
  return sdpa_mask;
}

}  // namespace attnscope
