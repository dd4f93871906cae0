// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmark/fma_peak.h"

namespace attnscope::cpu {
namespace {

// Chains that hide a latency of 4 to 5 cycles on two units.
constexpr int chains = 12;

using Lanes4 [[gnu::vector_size(16)]] = float;
using Lanes8 [[gnu::vector_size(32)]] = float;
using Lanes16 [[gnu::vector_size(64)]] = float;

/// Inlined into functions of an instruction set, where a product and a sum are one instruction.
template <typename Vector>
[[gnu::always_inline]] inline float burn(std::int64_t passes) {
  Vector sum[chains];
#pragma GCC unroll 12
  for (Vector& s : sum) s = Vector{} + 1.0f;
  const Vector a = Vector{} + 0.999f;
  for (std::int64_t i = 0; i < passes; ++i) {
#pragma GCC unroll 12
    for (Vector& s : sum) {
      s = s * a + a;
      asm volatile("" : "+v"(s));
    }
  }
  float total = 0;
#pragma GCC unroll 12
  for (const Vector& s : sum) total += s[0];
  return total;
}

[[gnu::target("avx512f")]] float burn_avx512(std::int64_t passes) {
  return burn<Lanes16>(passes);
}

[[gnu::target("avx2,fma")]] float burn_avx2(std::int64_t passes) {
  return burn<Lanes8>(passes);
}

}  // namespace

double flop_per_cycle(InstructionSet set) {
  switch (set) {
    case InstructionSet::baseline:
      return 8;
    case InstructionSet::avx2:
      return 32;
    default:
      return 64;
  }
}

double burn_multiply_adds(InstructionSet set, std::int64_t passes) {
  // Read by no one, written so that the compiler keeps the chains.
  [[maybe_unused]] volatile float kept = 0;
  switch (set) {
    case InstructionSet::baseline:
      kept = burn<Lanes4>(passes);
      return 2.0 * 4 * chains * static_cast<double>(passes);
    case InstructionSet::avx2:
      kept = burn_avx2(passes);
      return 2.0 * 8 * chains * static_cast<double>(passes);
    default:
      kept = burn_avx512(passes);
      return 2.0 * 16 * chains * static_cast<double>(passes);
  }
}

}  // namespace attnscope::cpu
