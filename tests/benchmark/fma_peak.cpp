// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmark/fma_peak.h"

#include <immintrin.h>

namespace attnscope::cpu {
namespace {

// Chains that hide a latency of 4 to 5 cycles on two units.
constexpr int chains = 12;

[[gnu::target("avx512f")]] float burn_avx512(std::int64_t passes) {
  __m512 sum[chains];
#pragma GCC unroll 12
  for (auto& s : sum) s = _mm512_set1_ps(1.0f);
  const __m512 a = _mm512_set1_ps(0.999f);
  for (std::int64_t i = 0; i < passes; ++i) {
#pragma GCC unroll 12
    for (auto& s : sum) {
      s = _mm512_fmadd_ps(s, a, a);
      asm volatile("" : "+v"(s));
    }
  }
  float total = 0;
#pragma GCC unroll 12
  for (auto& s : sum) total += _mm512_cvtss_f32(s);
  return total;
}

[[gnu::target("avx2,fma")]] float burn_avx2(std::int64_t passes) {
  __m256 sum[chains];
#pragma GCC unroll 12
  for (auto& s : sum) s = _mm256_set1_ps(1.0f);
  const __m256 a = _mm256_set1_ps(0.999f);
  for (std::int64_t i = 0; i < passes; ++i) {
#pragma GCC unroll 12
    for (auto& s : sum) {
      s = _mm256_fmadd_ps(s, a, a);
      asm volatile("" : "+x"(s));
    }
  }
  float total = 0;
#pragma GCC unroll 12
  for (auto& s : sum) total += _mm256_cvtss_f32(s);
  return total;
}

float burn_baseline(std::int64_t passes) {
  __m128 sum[chains];
#pragma GCC unroll 12
  for (auto& s : sum) s = _mm_set1_ps(1.0f);
  const __m128 a = _mm_set1_ps(0.999f);
  for (std::int64_t i = 0; i < passes; ++i) {
#pragma GCC unroll 12
    for (auto& s : sum) {
      s = _mm_add_ps(_mm_mul_ps(s, a), a);
      asm volatile("" : "+x"(s));
    }
  }
  float total = 0;
#pragma GCC unroll 12
  for (auto& s : sum) total += _mm_cvtss_f32(s);
  return total;
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
      kept = burn_baseline(passes);
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
