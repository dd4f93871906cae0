#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// LibTorch's fused attention kernels by name, and the problems each of them supports. LibTorch
// itself falls back to another kernel; for a kernel requested by name, the user gets the reason.
//
//   const SdpaDevice device{.compute_major = 9, .compute_minor = 0, .cudnn_version = 91300};
//   Status ok = sdpa_kernel_supports(SdpaKernel::flash, problem, device);   // "sdpa-flash supports
//   ..."

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/attention/implementation.h"

namespace attnscope {

enum class SdpaKernel : std::uint8_t { chosen_by_libtorch, flash, efficient, cudnn };

/// The id of the implementation that uses this kernel.
[[nodiscard]] constexpr std::string_view id_of(SdpaKernel kernel) {
  switch (kernel) {
    case SdpaKernel::flash:
      return "sdpa-flash";
    case SdpaKernel::efficient:
      return "sdpa-efficient";
    case SdpaKernel::cudnn:
      return "sdpa-cudnn";
    case SdpaKernel::chosen_by_libtorch:
      break;
  }
  return "sdpa";
}

/// The properties of the device that decide which problems a kernel supports.
struct SdpaDevice {
  int compute_major = 0, compute_minor = 0;
  std::int64_t cudnn_version = 0;  // in cuDNN's encoding: 91300 is 9.13; 0 without cuDNN
};

/// Default values without a device.
[[nodiscard]] SdpaDevice current_sdpa_device();

/// Ok, or why the named kernel cannot compute the problem, an attention. `device` is ignored on the
/// CPU.
[[nodiscard]] Status sdpa_kernel_supports(SdpaKernel kernel, const Problem& problem,
                                          const SdpaDevice& device);

/// The limits common to all kernels that, like flash, compute 16-bit types in tiles: dtype, head
/// dimension up to 256, compute capability, gradients of wide heads.
[[nodiscard]] Status flash_supports_on_cuda(std::string_view id, const Problem& problem,
                                            const SdpaDevice& device);

/// Bytes of the tiles of LibTorch's CPU kernel, over all threads, for calls of at most that
/// many rows and columns; 0 on CUDA, whose tiles are in shared memory and registers.
[[nodiscard]] std::int64_t sdpa_tile_bytes(const Problem& problem, std::int64_t rows,
                                           std::int64_t columns);

/// The kernel must support the problem.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_sdpa(const Problem& problem,
                                                              SdpaKernel kernel, bool masked);

struct SdpaOperands {
  at::Tensor q;     // [batch, heads, rows, dim]
  at::Tensor k, v;  // [batch, heads, columns, dim]
  std::optional<at::Tensor>
      bias;  // added to the scores, [1, 1 or heads, rows, columns], in q's dtype
};

struct SdpaResult {
  at::Tensor o;    // [batch, heads, rows, dim]
  at::Tensor lse;  // [batch, heads, rows], float32; undefined if the operator returns none
};

/// `with_lse`: some kernels write it only on request, and their backward needs it.
[[nodiscard]] SdpaResult run_sdpa_kernel(SdpaKernel kernel, const SdpaOperands& operands,
                                         double scale, bool with_lse);

// The tiles in which LibTorch's flash kernels for CUDA compute: their work is counted in whole
// tiles, regardless of the contents.

struct FlashTile {
  std::int64_t rows = 0;
  std::int64_t keys = 0;
  std::int64_t dim = 0;  // the head dimension of the kernel, to which smaller ones are padded
};

/// The tile is that of aten/src/ATen/native/transformers/cuda/flash_attn/
/// flash_fwd_launch_template.h without dropout, on compute capability 8.0 and 9.0.
[[nodiscard]] FlashTile flash_forward_tile(std::int64_t head_dim);

/// The tile is that of flash_bwd_launch_template.h, on devices with at least 144 KiB of shared
/// memory per block.
[[nodiscard]] FlashTile flash_backward_tile(std::int64_t head_dim);

/// A rectangle of pairs: all of it, or the part within a window of `window` tokens to each side of
/// the diagonal.
struct FlashPairs {
  std::int64_t rows = 0, keys = 0;
  std::int64_t window = -1;  // -1: none
};

/// (Query, key) pairs that are multiplied: all pairs of every tile with an allowed pair.
[[nodiscard]] double pairs_in_tiles(const FlashPairs& pairs, const FlashTile& tile);

}  // namespace attnscope
