// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/attention/flash_window/assembled_attention.h"
#include "engine/attention/flash_window/flash_part_kernel.h"
#include "engine/attention/flash_window/flash_window_limits.h"
#include "engine/attention/implementation.h"
#include "engine/attention/limits.h"
#include "engine/attention/sdpa/sdpa_kernels.h"

namespace attnscope {
namespace {

class FlashWindow final : public Implementation {
 public:
  std::string_view id() const override { return "flash-window"; }

  std::string_view summary() const override {
    return "LibTorch's flash kernel for CUDA with its own window over the document, one call more "
           "for each global part, merged by log-sum-exp; one call for a batch, even items in "
           "place, "
           "others gathered without padding in every call, which is timed; backward part by part";
  }

  Status supports(const Problem& problem) const override {
    if (Status ok = within_build_limits(problem, id()); !ok) return ok;
    return flash_window_takes(problem, current_sdpa_device());
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    auto groups = parts_of(problem);
    if (!groups) return tl::unexpected(groups.error());
    return prepare_assembled(problem, std::move(*groups), flash_part_kernel());
  }
};

}  // namespace

const Implementation& flash_window_implementation() {
  static const FlashWindow flash_window;
  return flash_window;
}

}  // namespace attnscope
