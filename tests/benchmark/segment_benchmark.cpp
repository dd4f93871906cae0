// SPDX-License-Identifier: Apache-2.0
//
// Times the fused and the three-step attention on the shapes the kernels are tuned for: 12 heads of
// 32, the sparse pattern, [CLS] and 11 query tokens. ATTNSCOPE_ISA chooses the instruction set.
//
// Each call is paired with a burst of multiply-adds on one core. `share` is the useful work's share
// of that rate times the threads, `cycles/row` the cycles a row of one head takes, both from the
// shortest call and the shortest burst: on a shared machine the rest is the work of other
// processes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "kernels/plan/counts.h"
#include "tests/benchmark/fma_peak.h"
#include "tests/benchmark/problem.h"

namespace attnscope::cpu {
namespace {

Problem problem_of(const benchmark::State& state) {
  return make_problem({.item_tokens = state.range(0),
                       .window = state.range(1),
                       .items = state.range(2),
                       .token_major = state.range(3) == 1,
                       .dtype = static_cast<DType>(state.range(4))});
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(benchmark::State& state, const AttentionPlan& plan,
             const std::function<Status()>& call) {
  const InstructionSet set = *selected_set();
  const auto threads = static_cast<double>(state.range(5));
  double call_seconds = std::numeric_limits<double>::infinity();
  double flop_rate = 0;
  for (auto _ : state) {
    double flop = 0;
    const double burst = seconds_of([&] { flop = burn_multiply_adds(set, 2000); });
    flop_rate = std::max(flop_rate, flop / burst);
    const double seconds = seconds_of([&] {
      if (const Status done = call(); !done) state.SkipWithError(done.error().message.c_str());
    });
    call_seconds = std::min(call_seconds, seconds);
    state.SetIterationTime(seconds);
  }
  const double rows = static_cast<double>(plan.tokens * heads);
  state.counters["ms"] = call_seconds * 1e3;
  state.counters["peak"] = flop_rate * 1e-9;
  state.counters["cycles/row"] = call_seconds * threads * flop_rate / flop_per_cycle(set) / rows;
  state.counters["share"] = useful_flop(count(plan), head_dim) / call_seconds / flop_rate / threads;
}

void segment(benchmark::State& state) {
  Problem p = problem_of(state);
  const int threads = static_cast<int>(state.range(5));
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(segment_workspace_bytes(p.plan, head_dim, threads)));
  measure(state, p.plan, [&] {
    return segment_forward(p.plan, p.in(p.q), p.in(p.k), p.in(p.v), scale, p.out(), {}, threads,
                           workspace);
  });
}

void windowed(benchmark::State& state) {
  Problem p = problem_of(state);
  const int threads = static_cast<int>(state.range(5));
  std::vector<float> workspace(static_cast<std::size_t>(windowed_score_elements(p.plan)));
  measure(state, p.plan, [&] {
    return windowed_forward(p.plan, p.in(p.q), p.in(p.k), p.in(p.v), scale, p.out(), {}, threads,
                            workspace);
  });
}

constexpr std::int64_t head_major = 0, token_major = 1;
constexpr std::int64_t float32 = 0, float16 = 1, bfloat16 = 2;

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"tokens", "w", "items", "token_major", "dtype", "threads"});
  for (const std::int64_t threads : {1, 2}) {
    for (const std::int64_t order : {head_major, token_major}) {
      for (const std::int64_t dtype : {float32, float16, bfloat16}) {
        for (const std::int64_t window : {64, 4}) b->Args({4096, window, 1, order, dtype, threads});
        b->Args({174, 4, 100, order, dtype, threads});
      }
      for (const std::int64_t window : {64, 4}) {
        b->Args({512, window, 1, order, float32, threads});
        b->Args({128, window, 1, order, float32, threads});  // stays in the second-level cache
      }
    }
    b->Args({4096, 4096, 1, head_major, float32, threads});
  }
  b->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(segment)->Apply(shapes);
BENCHMARK(windowed)->Apply(shapes);

}  // namespace
}  // namespace attnscope::cpu
