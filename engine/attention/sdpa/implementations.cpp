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
         "call for a uniform batch and one an item otherwise, result copied into place; documents "
         "in chunks as TKL's authors do, one call over all windows (a chunk and its overlap) with "
         "a mask of their padding, made once a layout, the packing of windows and unpacking of "
         "centres timed; backward by autograd, gradients copied or summed too"},
    Kind{"sdpa-mask", SdpaKernel::chosen_by_libtorch, Kind::Mask::always,
         "LibTorch scaled_dot_product_attention with the pattern as its mask, made once a layout "
         "as LibTorch would convert a boolean one, and not timed; result copied into place; "
         "backward by autograd, gradients copied too"},
    Kind{id_of(SdpaKernel::flash), SdpaKernel::flash, Kind::Mask::unless_full,
         "LibTorch's flash attention, and no other kernel: full attention on CUDA, any pattern as "
         "a mask on the CPU, made once a layout, not timed; one call for a uniform batch and one "
         "an item otherwise, result copied into place; backward by autograd, gradients copied too"},
    Kind{id_of(SdpaKernel::efficient), SdpaKernel::efficient, Kind::Mask::unless_full,
         "LibTorch's memory-efficient attention, and no other kernel, on CUDA: any pattern as an "
         "additive mask made once a layout, not timed; one call for a uniform batch and one an "
         "item otherwise, result copied into place; backward by autograd, gradients copied too"},
    Kind{id_of(SdpaKernel::cudnn), SdpaKernel::cudnn, Kind::Mask::unless_full,
         "LibTorch's cuDNN attention, and no other kernel, on CUDA: any pattern as an additive "
         "mask made once a layout, not timed; one call for a uniform batch and one an item "
         "otherwise, result copied into place; backward by autograd, gradients copied too"},
};

Status takes(const Kind& kind, const Problem& problem) {
  if (kind.kernel != SdpaKernel::chosen_by_libtorch) {
    return sdpa_kernel_takes(kind.kernel, problem, current_sdpa_device());
  }
  if (kind.mask == Kind::Mask::always) return {};
  if (problem.pattern.has_chunks()) {
    const Result<PackedWindows> windows = packed_windows(problem);
    return windows ? Status() : tl::unexpected(windows.error());
  }
  if (problem.layout.shares_query()) {
    return fail("sdpa knows only full attention within an item, and a shared query stands outside");
  }
  if (!is_full_attention(problem.layout, problem.plan)) {
    return fail("sdpa knows only full attention; sdpa-mask takes pattern {}", problem.pattern.name);
  }
  return {};
}

}  // namespace

std::vector<Implementation> sdpa_implementations() {
  std::vector<Implementation> rows;
  rows.reserve(kinds.size());
  for (const Kind& kind : kinds) {
    rows.push_back(
        {.id = kind.id,
         .summary = kind.summary,
         .is_fused = true,
         .supports = [kind](const Problem& problem) { return takes(kind, problem); },
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
  return rows;
}

}  // namespace attnscope
