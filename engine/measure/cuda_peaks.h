#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Loops that do nothing but one thing on all of the device, for its ceilings: the twins of
// ceilings.h. Each is queued on the stream and returns what it will have done.

#include <cstdint>

#include "kernels/base/result.h"
#include "kernels/cuda/stream.h"

namespace attnscope::measure {

/// Blocks and threads that fill the device, and how long each thread goes on.
struct PeakShape {
  int multiprocessors = 0;
  std::int64_t repeats = 0;
};

/// Floating-point operations in float32; a fused multiply-add is two.
[[nodiscard]] Result<double> peak_multiply_add(const PeakShape& shape, float* sink,
                                               cuda::Stream stream);
/// Floating-point operations of mma.m16n8k16 with bfloat16 factors.
[[nodiscard]] Result<double> peak_tensor_cores(const PeakShape& shape, float* sink,
                                               cuda::Stream stream);
/// Exponentials, as the kernels take them (ex2.approx).
[[nodiscard]] Result<double> peak_exponentials(const PeakShape& shape, float* sink,
                                               cuda::Stream stream);
/// Bytes read plus written: the first half of a working set onto the second, `repeats` times.
/// `bytes` is a multiple of 32; both halves are aligned to 16.
[[nodiscard]] Result<double> peak_copy(const PeakShape& shape, std::byte* set, std::int64_t bytes,
                                       cuda::Stream stream);
/// Reads `bytes` from `set`, both multiples of 16, and keeps nothing: what the caches hold
/// afterwards are lines of `set` that nobody has to write back. Returns the bytes read.
[[nodiscard]] Result<double> read_whole(const PeakShape& shape, const std::byte* set,
                                        std::int64_t bytes, float* sink, cuda::Stream stream);

}  // namespace attnscope::measure
