#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Ceilings: the rates this machine can reach. Each is the best of several short trials, over the
// instruction sets at hand: a limit is what was reached once, not on average.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/heat/cell.h"

namespace attnscope::measure {

/// FMA, exponential and copy rates of the processor with that many threads; about a second on a
/// quiet machine.
[[nodiscard]] Ceilings measure_ceilings(int threads);

/// Of the current CUDA device, once cuda::usable(): rates of multiply-adds in float32 and of 16-bit
/// factors on tensor cores, of exponentials, and of copies by working set; a second or two.
[[nodiscard]] Ceilings measure_cuda_ceilings();

/// Loops that do nothing but multiply-add, or nothing but exponentials, once per instruction set
/// that this processor offers: what a kernel could reach if memory were free.
struct PeakKernel {
  std::string_view instruction_set;  // "avx512", "avx2", "baseline"
  /// Floating-point operations done by `repeats` passes on one thread; a fused multiply-add is two.
  double (*multiply_add)(std::int64_t repeats);
  /// out[i] = e^in[i], for -87 <= in[i] <= 0 as a softmax has it; `count` is a multiple of 16.
  void (*exponentials)(const float* in, float* out, std::size_t count);
};

/// Those this processor can run, the widest first; never empty.
[[nodiscard]] std::span<const PeakKernel> peak_kernels();

}  // namespace attnscope::measure
