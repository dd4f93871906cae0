// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "engine/measure/heat_device.h"
#include "engine/measure/machine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attnscope::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int trials = 5;
constexpr double trial_seconds = 0.012;
constexpr std::int64_t least_set = mib / 4;
// Exceeds even the caches of servers: gives the memory rate, which limits cells with cold caches.
constexpr std::int64_t largest_set = 1024 * mib;
constexpr std::int64_t one_pass_set = 256 * mib;
// 4 KiB of input and of output stay in the first-level cache.
constexpr std::size_t exponentials_at_once = 1024;

/// Runs `work(thread)` on all threads at once; returns seconds from the common start to the last
/// end.
double seconds_of(int threads, const std::function<void(int thread)>& work) {
#pragma omp parallel num_threads(threads)
  {}  // all threads of the team are awake
  const auto start = Clock::now();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; ++thread) work(thread);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Number of passes that fill a trial on one thread, from the shortest of three runs: another
/// process may take the core in any of them, and a stall must not count as work.
std::int64_t passes_for_a_trial(const std::function<void(std::int64_t passes, int thread)>& run) {
  std::int64_t passes = 1;
  while (passes < (std::int64_t{1} << 40)) {
    double shortest = trial_seconds;
    for (int attempt = 0; attempt < 3 && shortest >= trial_seconds / 4; ++attempt) {
      const auto start = Clock::now();
      run(passes, 0);
      shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - start).count());
    }
    if (shortest >= trial_seconds / 4) break;
    passes *= 4;
  }
  return passes;
}

/// Best rate of `trials` runs of `run(passes, thread)`. 0 passes: as many as fill a trial.
double best_rate(int threads, double amount_per_pass,
                 const std::function<void(std::int64_t passes, int thread)>& run,
                 std::int64_t passes = 0) {
  if (passes == 0) passes = passes_for_a_trial(run);
  // On a busy machine a trial may take far longer than planned.
  const auto patience = Clock::now() + std::chrono::duration<double>(trials * trial_seconds);
  double best = 0;
  for (int trial = 0; trial < trials && (best == 0 || Clock::now() < patience); ++trial) {
    const double seconds = seconds_of(threads, [&](int thread) { run(passes, thread); });
    best = std::max(best, static_cast<double>(passes) * amount_per_pass * threads / seconds);
  }
  return best;
}

/// Only vectorised sets, if there are any: the widest is not always the fastest (clocks fall).
std::span<const PeakKernel> candidates() {
  const std::span<const PeakKernel> all = peak_kernels();
  return all.first(std::max<std::size_t>(all.size() - 1, 1));
}

double flop_per_second(int threads) {
  double best = 0;
  for (const PeakKernel& kernel : candidates()) {
    const double flop = kernel.multiply_add(1);
    best = std::max(best, best_rate(threads, flop, [&](std::int64_t passes, int) {
                      kernel.multiply_add(passes);
                    }));
  }
  return best;
}

double exponentials_per_second(int threads) {
  double best = 0;
  for (const PeakKernel& kernel : candidates()) {
    const auto run = [&](std::int64_t passes, int) {
      alignas(64) float in[exponentials_at_once];
      alignas(64) float out[exponentials_at_once];
      for (std::size_t i = 0; i < exponentials_at_once; ++i) in[i] = -static_cast<float>(i) / 16.0F;
      for (std::int64_t pass = 0; pass < passes; ++pass)
        kernel.exponentials(in, out, exponentials_at_once);
    };
    best = std::max(best, best_rate(threads, static_cast<double>(exponentials_at_once), run));
  }
  return best;
}

/// Copies half of the working set to the other half; each thread copies its own slice.
double copy_rate(int threads, std::span<std::byte> set) {
  const std::size_t slice = set.size() / 2 / static_cast<std::size_t>(threads) / 64 * 64;
  const auto run = [&](std::int64_t passes, int thread) {
    std::byte* const from = set.data() + slice * static_cast<std::size_t>(thread);
    std::byte* const to = set.data() + set.size() / 2 + slice * static_cast<std::size_t>(thread);
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      std::memcpy(to, from, slice);
      asm volatile("" : : "r"(to) : "memory");  // forces every pass to be executed, without merging
    }
  };
  // One pass over a set of this size fills a trial on any machine.
  const bool one_fills = set.size() >= static_cast<std::size_t>(one_pass_set);
  return best_rate(threads, 2.0 * static_cast<double>(slice), run, one_fills ? 1 : 0);
}

/// Some processors write zeros over zeros faster than other data.
void fill_with_ones(int threads, std::span<std::byte> set) {
  const std::size_t slice =
      (set.size() + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  seconds_of(threads, [&](int thread) {
    const std::size_t begin = std::min(slice * static_cast<std::size_t>(thread), set.size());
    const auto own = set.subspan(begin, std::min(slice, set.size() - begin));
    std::memset(own.data(), 1, own.size());
  });
}

// Latency of 4-5 cycles times 2 units: twelve chains keep every unit busy on all sets, and leave
// registers for the two constants where there are sixteen.
constexpr int chains = 12;

// Minimax polynomial of 2^f on [-0.5, 0.5], degree 6, relative error below 1e-7 (the same range
// reduction as in Cephes' expf): the Taylor coefficients of 2^f are within that error.
constexpr float log2_e = 1.44269504F;
constexpr float c1 = 0.693147181F, c2 = 0.240226507F, c3 = 0.0555041087F, c4 = 0.00961812911F,
                c5 = 0.00133335581F, c6 = 0.000154035304F;

// Prevents the compiler from removing or folding the chains.
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

// In g++ 12's headers, the forms without a mask read an undefined register, which causes a warning.
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

Ceilings measure_ceilings(int threads) {
  threads = std::max(threads, 1);
  set_threads(threads);
  Ceilings ceilings;
  ceilings.threads = threads;
  ceilings.flop_per_second = flop_per_second(threads);
  ceilings.exponentials_per_second = exponentials_per_second(threads);
  BlockCache& memory = process_memory();
  std::int64_t largest = largest_set;
  while (largest > least_set && largest > memory.free_bytes() / 2) largest /= 4;
  if (largest <= memory.free_bytes() / 2) {
    const Buffer sets(memory, largest);
    fill_with_ones(threads, sets.bytes());
    for (std::int64_t bytes = least_set; bytes <= largest; bytes *= 4) {
      const auto set = sets.bytes().first(static_cast<std::size_t>(bytes));
      ceilings.copy.push_back({bytes, copy_rate(threads, set)});
    }
  }
  memory.empty_cache();
  return ceilings;
}

std::span<const PeakKernel> peak_kernels() {
  static const std::vector<PeakKernel> kernels = kernels_here();
  return kernels;
}

}  // namespace attnscope::measure
