// SPDX-License-Identifier: Apache-2.0
//
// Times the fused and the three-step attention on the shapes the kernels are tuned for: 12 heads of
// 32, the sparse pattern, [CLS] and 11 query tokens. ATTNSCOPE_ISA chooses the instruction set.
//
// Each call is paired with a burst of multiply-adds on one core. `share` is the useful work's share
// of that rate times the threads, `cycles/row` the cycles a row of one head takes, both from the
// shortest call and the shortest burst: on a shared machine the rest is other people's work.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "engine/pattern/compile_plan.h"
#include "kernels/cpu/benchmark/fma_peak.h"
#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "kernels/plan/counts.h"

namespace attnscope::cpu {
namespace {

constexpr std::int32_t heads = 12;
constexpr std::int64_t head_dim = 32;
const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));

/// Bytes as the programs hand them in: on a cache line, in huge pages where they are many.
struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<std::byte[], Free>;

Buffer buffer(std::int64_t bytes) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  const std::size_t size = (static_cast<std::size_t>(bytes) + huge - 1) / huge * huge;
  Buffer b(static_cast<std::byte*>(std::aligned_alloc(huge, size)));
  madvise(b.get(), size, MADV_HUGEPAGE);
  return b;
}

struct Problem {
  AttentionPlan plan;
  DType dtype = DType::float32;
  bool token_major = false;
  std::int64_t item_tokens = 0;
  Buffer q, k, v, o;

  template <typename Byte>
  [[nodiscard]] StridedTensor<Byte> tensor(Byte* data) const {
    if (token_major) return {data, dtype, head_dim, heads * head_dim, head_dim, 0, 0};
    return {data,
            dtype,
            head_dim,
            head_dim,
            item_tokens * head_dim,
            item_tokens,
            heads * item_tokens * head_dim};
  }
  [[nodiscard]] ConstTensor in(const Buffer& x) const {
    return tensor(static_cast<const std::byte*>(x.get()));
  }
  [[nodiscard]] Tensor out() { return tensor(o.get()); }
};

/// Normal numbers; the 16-bit types get the upper halves of floats, which as bfloat16 are those
/// numbers cut off and as float16 others of moderate size.
Buffer numbers(std::mt19937& random, DType dtype, std::int64_t count) {
  std::normal_distribution<float> normal;
  Buffer bytes = buffer(count * size_of(dtype));
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = normal(random);
    const auto* low = reinterpret_cast<const std::byte*>(&x);
    std::copy_n(low + 4 - size_of(dtype), size_of(dtype), bytes.get() + i * size_of(dtype));
  }
  return bytes;
}

Problem problem_of(const benchmark::State& state) {
  Problem p;
  p.item_tokens = state.range(0);
  const auto layout = SequenceLayout::uniform(
      state.range(2), {.cls = 1, .query = 11, .documents = {p.item_tokens - 12}});
  p.plan = *compile_plan(*find_pattern("sparse"), Window::of(state.range(1)), layout, heads);
  p.token_major = state.range(3) == 1;
  p.dtype = static_cast<DType>(state.range(4));
  std::mt19937 random(1);
  for (auto* x : {&p.q, &p.k, &p.v}) {
    *x = numbers(random, p.dtype, p.plan.tokens * heads * head_dim);
  }
  p.o = buffer(p.plan.tokens * heads * head_dim * size_of(p.dtype));
  return p;
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
