#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// LibTorch's fused attention kernels by name, and what each of them takes. LibTorch itself goes on
// to another kernel where one declines; asked for by name, the reason is what the user gets.
//
//   const SdpaDevice device{.compute_major = 9, .compute_minor = 0, .cudnn_version = 91300};
//   Status ok = sdpa_kernel_takes(SdpaKernel::flash, problem, device);   // "sdpa-flash takes ..."

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/attention/implementation.h"

namespace attnscope {

enum class SdpaKernel : std::uint8_t { chosen_by_libtorch, flash, efficient, cudnn };

/// The id of the implementation that asks for this kernel.
[[nodiscard]] std::string_view id_of(SdpaKernel kernel);

/// What decides about a problem on CUDA beside the problem itself.
struct SdpaDevice {
  int compute_major = 0, compute_minor = 0;
  std::int64_t cudnn_version = 0;  // as cuDNN counts it: 91300 is 9.13; 0 without cuDNN
};

/// Nothing without a device.
[[nodiscard]] SdpaDevice current_sdpa_device();

/// Ok, or why the named kernel cannot compute the problem, an attention. `device` is not looked at
/// on the CPU.
[[nodiscard]] Status sdpa_kernel_takes(SdpaKernel kernel, const Problem& problem,
                                       const SdpaDevice& device);

/// What of these holds for every kernel that works on 16-bit types in tiles, as flash does: dtype,
/// head dimension up to 256, compute capability, gradients of wide heads.
[[nodiscard]] Status flash_takes_on_cuda(std::string_view id, const Problem& problem,
                                         const SdpaDevice& device);

/// What LibTorch's kernel for the CPU holds in tiles, over all threads, for calls of at most so
/// many rows and columns; 0 on CUDA, whose tiles are in the processor's own memory.
[[nodiscard]] std::int64_t sdpa_tile_bytes(const Problem& problem, std::int64_t rows,
                                           std::int64_t columns);

/// The problem must be one that the kernel takes.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_sdpa(const Problem& problem,
                                                              SdpaKernel kernel, bool masked);

}  // namespace attnscope
