// SPDX-License-Identifier: Apache-2.0
//
// Times the fused and the three-step attention on the shapes the kernels are tuned for: 12 heads of
// 32, the sparse pattern, [CLS] and 11 query tokens. Arguments: tokens, window, items, memory order
// (0 head-major, 1 token-major), threads. ATTNSCOPE_ISA chooses the instruction set.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "engine/pattern/compile_plan.h"
#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "kernels/plan/counts.h"

namespace attnscope::cpu {
namespace {

constexpr std::int32_t heads = 12;
constexpr std::int64_t head_dim = 32;

struct Problem {
  AttentionPlan plan;
  std::vector<float> q, k, v, o;
  bool token_major = false;
  std::int64_t item_tokens = 0;

  template <typename Byte>
  [[nodiscard]] StridedTensor<Byte> tensor(Byte* data) const {
    if (token_major) {
      return {data, DType::float32, head_dim, heads * head_dim, head_dim, 0, 0};
    }
    return {data,
            DType::float32,
            head_dim,
            head_dim,
            item_tokens * head_dim,
            item_tokens,
            heads * item_tokens * head_dim};
  }
  [[nodiscard]] ConstTensor in(const std::vector<float>& x) const {
    return tensor(reinterpret_cast<const std::byte*>(x.data()));
  }
  [[nodiscard]] Tensor out() { return tensor(reinterpret_cast<std::byte*>(o.data())); }
};

Problem problem_of(const benchmark::State& state) {
  Problem p;
  p.item_tokens = state.range(0);
  const auto layout = SequenceLayout::uniform(
      state.range(2), {.cls = 1, .query = 11, .documents = {p.item_tokens - 12}});
  p.plan = *compile_plan(*find_pattern("sparse"), Window::of(state.range(1)), layout, heads);
  p.token_major = state.range(3) == 1;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* x : {&p.q, &p.k, &p.v}) {
    x->resize(static_cast<std::size_t>(p.plan.tokens * heads * head_dim));
    for (float& value : *x) value = normal(random);
  }
  p.o.resize(p.q.size());
  return p;
}

void report(benchmark::State& state, const AttentionPlan& plan) {
  const double flop = useful_flop(count(plan), head_dim);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flop * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void segment(benchmark::State& state) {
  Problem p = problem_of(state);
  const int threads = static_cast<int>(state.range(4));
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(segment_workspace_bytes(p.plan, head_dim, threads)));
  for (auto _ : state) {
    const Status done = segment_forward(p.plan, p.in(p.q), p.in(p.k), p.in(p.v),
                                        1.0f / std::sqrt(32.0f), p.out(), {}, threads, workspace);
    if (!done) state.SkipWithError(done.error().message.c_str());
  }
  report(state, p.plan);
}

void windowed(benchmark::State& state) {
  Problem p = problem_of(state);
  const int threads = static_cast<int>(state.range(4));
  std::vector<float> workspace(static_cast<std::size_t>(windowed_score_elements(p.plan)));
  for (auto _ : state) {
    const Status done = windowed_forward(p.plan, p.in(p.q), p.in(p.k), p.in(p.v),
                                         1.0f / std::sqrt(32.0f), p.out(), {}, threads, workspace);
    if (!done) state.SkipWithError(done.error().message.c_str());
  }
  report(state, p.plan);
}

void shapes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t threads : {1, 2}) {
    for (const std::int64_t order : {0, 1}) {
      for (const std::int64_t window : {64, 4}) {
        b->Args({4096, window, 1, order, threads});
        b->Args({512, window, 1, order, threads});
      }
      b->Args({174, 4, 100, order, threads});
    }
    b->Args({4096, 4096, 1, 0, threads});
  }
  b->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(segment)->Apply(shapes);
BENCHMARK(windowed)->Apply(shapes);

}  // namespace
}  // namespace attnscope::cpu
