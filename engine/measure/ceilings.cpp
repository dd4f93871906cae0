// SPDX-License-Identifier: Apache-2.0
//
// Ceilings: the rates this machine can reach with a number of threads. Each is the best of several
// short trials, over the instruction sets at hand: a limit is what was reached once, not on
// average.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "engine/measure/block_cache.h"
#include "engine/measure/counting_allocator.h"
#include "engine/measure/heat_runner.h"
#include "engine/measure/peak_kernels.h"
#include "engine/measure/torch_runtime.h"

namespace attnscope::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int trials = 5;
constexpr double trial_seconds = 0.012;
constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t least_set = mib / 4;
// Beyond the caches of a server too: the rate from memory, which limits cells with cold caches.
constexpr std::int64_t largest_set = 1024 * mib;
// 4 KiB in and as much out stay in the first-level cache.
constexpr std::size_t exponentials_at_once = 1024;

/// Runs `work(thread)` on all threads at once; seconds from the common start to the last end.
double seconds_of(int threads, const std::function<void(int thread)>& work) {
#pragma omp parallel num_threads(threads)
  {}  // the team is awake
  const auto start = Clock::now();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; ++thread) work(thread);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Passes that fill a trial on one thread. The shortest of three runs counts: another process may
/// take the core in any of them, and a stall must not pass for work.
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

/// Best rate of `trials`; `run(passes, thread)` works.
double best_rate(int threads, double amount_per_pass,
                 const std::function<void(std::int64_t passes, int thread)>& run) {
  const std::int64_t passes = passes_for_a_trial(run);
  // On a busy machine a trial may take far longer than it should.
  const auto patience = Clock::now() + std::chrono::duration<double>(trials * trial_seconds);
  double best = 0;
  for (int trial = 0; trial < trials && (best == 0 || Clock::now() < patience); ++trial) {
    const double seconds = seconds_of(threads, [&](int thread) { run(passes, thread); });
    best = std::max(best, static_cast<double>(passes) * amount_per_pass * threads / seconds);
  }
  return best;
}

/// Vectorised sets only, where there are any: the widest need not be the fastest (clocks fall).
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

/// Copies half of the working set onto the other half, each thread its own slice.
double copy_rate(int threads, std::span<std::byte> set) {
  const std::size_t slice = set.size() / 2 / static_cast<std::size_t>(threads) / 64 * 64;
  const auto run = [&](std::int64_t passes, int thread) {
    std::byte* const from = set.data() + slice * static_cast<std::size_t>(thread);
    std::byte* const to = set.data() + set.size() / 2 + slice * static_cast<std::size_t>(thread);
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      std::memcpy(to, from, slice);
      asm volatile("" : : "r"(to) : "memory");  // each pass is observed, none may be merged
    }
  };
  return best_rate(threads, 2.0 * static_cast<double>(slice), run);
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
    memory.provide(std::span(&largest, 1));
    const Buffer sets(memory, largest);
    // Some processors write zeros over zeros faster than anything else.
    std::memset(sets.bytes().data(), 1, sets.bytes().size());
    for (std::int64_t bytes = least_set; bytes <= largest; bytes *= 4) {
      const auto set = sets.bytes().first(static_cast<std::size_t>(bytes));
      ceilings.copy.push_back({bytes, copy_rate(threads, set)});
    }
  }
  memory.empty_cache();
  return ceilings;
}

}  // namespace attnscope::measure
