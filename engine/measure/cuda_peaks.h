#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Loops of a single operation on the whole device, for its ceilings: the CUDA counterpart of
// ceilings.h. Each is queued on the stream and returns the amount of work that it executes.

#include <cstdint>

#include "base/result.h"
#include "kernels/cuda/devices.h"

namespace attnscope::measure {

/// Blocks and threads that fill the device, and the number of iterations per thread.
struct PeakShape {
  int multiprocessors = 0;
  std::int64_t repeats = 0;
};

/// Returns floating-point operations in float32; a fused multiply-add counts as two.
[[nodiscard]] Result<double> peak_multiply_add(const PeakShape& shape, float* sink,
                                               cuda::Stream stream);
/// Returns floating-point operations of mma.m16n8k16 with bfloat16 factors.
[[nodiscard]] Result<double> peak_tensor_cores(const PeakShape& shape, float* sink,
                                               cuda::Stream stream);
/// Returns the number of exponentials, computed as in the kernels (ex2.approx).
[[nodiscard]] Result<double> peak_exponentials(const PeakShape& shape, float* sink,
                                               cuda::Stream stream);
/// Returns bytes read plus written: copies the first half of a working set to the second, `repeats`
/// times. `bytes` is a multiple of 32; both halves are aligned to 16 bytes.
[[nodiscard]] Result<double> peak_copy(const PeakShape& shape, std::byte* set, std::int64_t bytes,
                                       cuda::Stream stream);
/// Reads `bytes` from `set`, both multiples of 16, and stores nothing, so that the caches then hold
/// clean lines of `set` that need no write-back. Returns the bytes read.
[[nodiscard]] Result<double> read_whole(const PeakShape& shape, const std::byte* set,
                                        std::int64_t bytes, float* sink, cuda::Stream stream);

}  // namespace attnscope::measure
