#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Loops that do nothing but multiply-add, or nothing but exponentials, once per instruction set
// that this processor offers: what a kernel could reach if memory were free.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace attnscope::measure {

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
