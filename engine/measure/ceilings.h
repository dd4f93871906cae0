#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Ceilings: the peak rates of this machine. Each is the best of several short trials over the
// available instruction sets: a ceiling is the best observed rate, not the average.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/heat/cell.h"

namespace attnscope::measure {

/// FMA, exponential and copy rates of the processor with this number of threads. Takes about a
/// second on a quiet machine.
[[nodiscard]] Ceilings measure_ceilings(int threads);

/// Ceilings of the current CUDA device (requires cuda::usable()): rates of float32 multiply-adds,
/// of 16-bit multiply-adds on tensor cores, of exponentials, and of copies by working set. Takes a
/// second or two.
[[nodiscard]] Ceilings measure_cuda_ceilings();

/// Loops that execute only multiply-adds or only exponentials, one per instruction set that this
/// processor supports: the rate that a kernel could reach with free memory accesses.
struct PeakKernel {
  std::string_view instruction_set;  // "avx512", "avx2", "baseline"
  /// Returns the floating-point operations executed by `repeats` passes on one thread; a fused
  /// multiply-add counts as two.
  double (*multiply_add)(std::int64_t repeats);
  /// out[i] = e^in[i], for -87 <= in[i] <= 0 as in a softmax; `count` is a multiple of 16.
  void (*exponentials)(const float* in, float* out, std::size_t count);
};

/// The kernels that this processor can execute, widest first; never empty.
[[nodiscard]] std::span<const PeakKernel> peak_kernels();

}  // namespace attnscope::measure
