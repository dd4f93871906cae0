// SPDX-License-Identifier: Apache-2.0

#include "engine/attention/blocks.h"
#include "engine/attention/implementation.h"
#include "engine/attention/limits.h"
#include "engine/attention/sdpa/prepared_sdpa.h"

namespace attnscope {
namespace {

class Sdpa final : public Implementation {
 public:
  std::string_view id() const override { return "sdpa"; }

  std::string_view summary() const override {
    return "LibTorch scaled_dot_product_attention without a mask: full attention over each item, "
           "one "
           "call for a uniform batch and one an item otherwise, result copied into place; backward "
           "by autograd, gradients copied too";
  }

  Status supports(const Problem& problem) const override {
    if (const Status ok = within_build_limits(problem, id()); !ok) return ok;
    if (problem.operation == Operation::windowed_matmul) {
      return fail("sdpa is fused: it has no separate products for windowed-matmul");
    }
    if (problem.layout.shares_query()) {
      return fail(
          "sdpa knows only full attention within an item, and a shared query stands outside");
    }
    if (!is_full_attention(problem.layout, problem.plan)) {
      return fail("sdpa knows only full attention; sdpa-mask takes pattern {}",
                  problem.pattern.name);
    }
    return {};
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    return prepare_sdpa(problem, SdpaKernel::chosen_by_libtorch, /*masked=*/false);
  }
};

}  // namespace

const Implementation& sdpa_implementation() {
  static const Sdpa sdpa;
  return sdpa;
}

}  // namespace attnscope
