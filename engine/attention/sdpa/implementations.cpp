// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "engine/attention/blocks.h"
#include "engine/attention/sdpa/packed_windows.h"
#include "engine/attention/sdpa/sdpa.h"

namespace attnscope {
namespace {

/// The kernels of LibTorch's fused attention, one implementation each.
struct Kind {
  std::string_view id;
  SdpaKernel kernel;
  enum class Mask : std::uint8_t { never, always, unless_full } mask;
  std::string_view summary;
};

constexpr std::array kinds{
    Kind{id_of(SdpaKernel::chosen_by_libtorch), SdpaKernel::chosen_by_libtorch, Kind::Mask::never,
         "LibTorch scaled_dot_product_attention without a mask: full attention over each item, one "
         "call for a uniform batch, otherwise one per item, result copied into place; documents in "
         "chunks as TKL's authors do, one call over all windows (a chunk and its overlap) with a "
         "mask of their padding, made once per layout; packing windows and unpacking centres is "
         "timed; backward by autograd, gradients also copied or summed"},
    Kind{"sdpa-mask", SdpaKernel::chosen_by_libtorch, Kind::Mask::always,
         "LibTorch scaled_dot_product_attention with the pattern as its mask, made once per "
         "layout as LibTorch would convert a boolean mask, not timed; result copied into place; "
         "backward by autograd, gradients also copied"},
    Kind{id_of(SdpaKernel::flash), SdpaKernel::flash, Kind::Mask::unless_full,
         "LibTorch's flash attention, and no other kernel: full attention on CUDA, any pattern as "
         "a mask on the CPU, made once per layout, not timed; one call for a uniform batch, "
         "otherwise one per item, result copied into place; backward by autograd, gradients also "
         "copied"},
    Kind{id_of(SdpaKernel::efficient), SdpaKernel::efficient, Kind::Mask::unless_full,
         "LibTorch's memory-efficient attention, and no other kernel, on CUDA: any pattern as an "
         "additive mask made once per layout, not timed; one call for a uniform batch, otherwise "
         "one "
         "per item, result copied into place; backward by autograd, gradients also copied"},
    Kind{id_of(SdpaKernel::cudnn), SdpaKernel::cudnn, Kind::Mask::unless_full,
         "LibTorch's cuDNN attention, and no other kernel, on CUDA: any pattern as an additive "
         "mask made once per layout, not timed; one call for a uniform batch, otherwise one per "
         "item, result copied into place; backward by autograd, gradients also copied"},
};

Status supports(const Kind& kind, const Problem& problem) {
  if (kind.kernel != SdpaKernel::chosen_by_libtorch) {
    return sdpa_kernel_supports(kind.kernel, problem, current_sdpa_device());
  }
  if (kind.mask == Kind::Mask::always) return {};
  if (problem.pattern.has_chunks()) {
    const Result<PackedWindows> windows = packed_windows(problem);
    return windows ? Status() : tl::unexpected(windows.error());
  }
  if (problem.layout.shares_query()) {
    return fail(
        "sdpa supports only full attention within an item, and a shared query is outside its "
        "items");
  }
  if (!is_full_attention(problem.layout, problem.plan)) {
    return fail("sdpa supports only full attention; sdpa-mask supports pattern {}",
                problem.pattern.name);
  }
  return {};
}

}  // namespace

std::vector<Implementation> sdpa_implementations() {
  std::vector<Implementation> implementations;
  implementations.reserve(kinds.size());
  for (const Kind& kind : kinds) {
    implementations.push_back(
        {.id = kind.id,
         .summary = kind.summary,
         .is_fused = true,
         .supports = [kind](const Problem& problem) { return supports(kind, problem); },
         .prepare = [kind](const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
           if (kind.mask == Kind::Mask::never && problem.pattern.has_chunks()) {
             return packed_windows(problem).map([&](PackedWindows windows) {
               return prepare_packed_windows(problem, std::move(windows));
             });
           }
           const bool masked = kind.mask == Kind::Mask::unless_full
                                   ? !is_full_attention(problem.layout, problem.plan)
                                   : kind.mask == Kind::Mask::always;
           return prepare_sdpa(problem, kind.kernel, masked);
         }});
  }
  return implementations;
}

}  // namespace attnscope
