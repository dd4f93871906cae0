// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/peak_kernels.h"

#include <cmath>
#include <cstddef>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attnscope::measure {
namespace {

// Latency 4-5 times 2 units a cycle: twelve chains keep every unit busy on all sets, and leave
// registers for the two constants where there are sixteen.
constexpr int chains = 12;

// Minimax polynomial of 2^f on [-0.5, 0.5], degree 6, relative error below 1e-7 (Cephes' expf
// reduces in the same way): powers of ln 2 over factorials are within that error there.
constexpr float log2_e = 1.44269504F;
constexpr float c1 = 0.693147181F, c2 = 0.240226507F, c3 = 0.0555041087F, c4 = 0.00961812911F,
                c5 = 0.00133335581F, c6 = 0.000154035304F;

// The compiler must neither drop the chains nor fold them.
volatile float sink = 0;

double baseline_multiply_add(std::int64_t repeats) {
  float x[chains * 4];
  for (int i = 0; i < chains * 4; ++i) x[i] = static_cast<float>(i);
  for (std::int64_t r = 0; r < repeats; ++r)
    for (float& value : x) value = value * 0.999F + 0.001F;
  float sum = 0;
  for (const float value : x) sum += value;
  sink = sum;
  return 2.0 * chains * 4 * static_cast<double>(repeats);
}

void baseline_exponentials(const float* in, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = std::exp(in[i]);
}

#if defined(__x86_64__)

__attribute__((target("avx2,fma"))) double avx2_multiply_add(std::int64_t repeats) {
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 addend = _mm256_set1_ps(0.001F);
  __m256 x[chains];
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i) x[i] = _mm256_set1_ps(static_cast<float>(i));
  for (std::int64_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) x[i] = _mm256_fmadd_ps(x[i], factor, addend);
  }
  __m256 sum = x[0];
#pragma GCC unroll 12
  for (int i = 1; i < chains; ++i) sum = _mm256_add_ps(sum, x[i]);
  sink = _mm256_cvtss_f32(sum);
  return 2.0 * chains * 8 * static_cast<double>(repeats);
}

__attribute__((target("avx2,fma"))) void avx2_exponentials(const float* in, float* out,
                                                           std::size_t count) {
  const __m256i bias = _mm256_set1_epi32(127);
  for (std::size_t i = 0; i < count; i += 8) {
    const __m256 y = _mm256_mul_ps(_mm256_loadu_ps(in + i), _mm256_set1_ps(log2_e));
    const __m256 n = _mm256_round_ps(y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 f = _mm256_sub_ps(y, n);
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(c6), f, _mm256_set1_ps(c5));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(c4));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(c3));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(c2));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(c1));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(1.0F));
    const __m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), bias), 23);
    _mm256_storeu_ps(out + i, _mm256_mul_ps(p, _mm256_castsi256_ps(exponent)));
  }
}

__attribute__((target("avx512f"))) double avx512_multiply_add(std::int64_t repeats) {
  const __m512 factor = _mm512_set1_ps(0.999F);
  const __m512 addend = _mm512_set1_ps(0.001F);
  __m512 x[chains];
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i) x[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::int64_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) x[i] = _mm512_fmadd_ps(x[i], factor, addend);
  }
  __m512 sum = x[0];
#pragma GCC unroll 12
  for (int i = 1; i < chains; ++i) sum = _mm512_add_ps(sum, x[i]);
  sink = _mm512_cvtss_f32(sum);
  return 2.0 * chains * 16 * static_cast<double>(repeats);
}

// The forms without a mask read an undefined register in g++ 12's headers, which it warns about.
constexpr __mmask16 every_lane = 0xffff;

__attribute__((target("avx512f"))) void avx512_exponentials(const float* in, float* out,
                                                            std::size_t count) {
  for (std::size_t i = 0; i < count; i += 16) {
    const __m512 y = _mm512_mul_ps(_mm512_loadu_ps(in + i), _mm512_set1_ps(log2_e));
    const __m512 n =
        _mm512_maskz_roundscale_ps(every_lane, y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(y, n);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(c6), f, _mm512_set1_ps(c5));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(c4));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(c3));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(c2));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(c1));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0F));
    _mm512_storeu_ps(out + i, _mm512_maskz_scalef_ps(every_lane, p, n));
  }
}

#endif

std::vector<PeakKernel> kernels_here() {
  std::vector<PeakKernel> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    kernels.push_back({"avx512", &avx512_multiply_add, &avx512_exponentials});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back({"avx2", &avx2_multiply_add, &avx2_exponentials});
#endif
  kernels.push_back({"baseline", &baseline_multiply_add, &baseline_exponentials});
  return kernels;
}

}  // namespace

std::span<const PeakKernel> peak_kernels() {
  static const std::vector<PeakKernel> kernels = kernels_here();
  return kernels;
}

}  // namespace attnscope::measure
