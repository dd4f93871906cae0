// SPDX-License-Identifier: Apache-2.0
//
// Times linear layers of BERT-base's sizes on rows of candidates, of documents and of a query. The
// rate of multiply-adds that bounds them is that of fma_peak; attnscope_late_figures times them
// together with LibTorch's own products.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/cpu/linear.h"

namespace attnscope::cpu {
namespace {

void linear_layer(benchmark::State& state) {
  const std::int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  const int threads = static_cast<int>(state.range(3));
  const auto floats = [](std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count), 0.5F);
  };
  const std::vector<float> x = floats(rows * in), bias = floats(out);
  const auto products = static_cast<Products>(state.range(5));
  std::vector<std::byte> weights(static_cast<std::size_t>(packed_linear_bytes(products, out, in)));
  if (const Status packed = pack_linear(floats(out * in), products, out, in, weights); !packed)
    return state.SkipWithError(packed.error().message.c_str());
  std::vector<float> y = floats(rows * out);
  std::vector<float> workspace = floats(linear_workspace_floats(rows, threads));
  const LinearCall call{.x = {x.data(), in},
                        .rows = rows,
                        .in = in,
                        .products = products,
                        .weights = weights,
                        .out = out,
                        .bias = bias,
                        .activation = static_cast<Activation>(state.range(4)),
                        .y = {y.data(), out}};
  for (auto _ : state) {
    const Status done = linear(call, threads, workspace);
    if (!done) state.SkipWithError(done.error().message.c_str());
  }
  const auto calls = static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(
      calls * 2e-9 * static_cast<double>(rows * in * out), benchmark::Counter::kIsRate);
  state.counters["GB/s of weights"] = benchmark::Counter(
      calls * 1e-9 * static_cast<double>(weights.size()), benchmark::Counter::kIsRate);
}

// Rows, inputs, outputs, threads, whether GELU follows, products.
BENCHMARK(linear_layer)
    ->ArgsProduct({{2000, 180, 12}, {768}, {3072}, {1, 2}, {0, 1}, {0, 1, 2}})
    ->ArgsProduct({{2000}, {3072}, {768}, {1, 2}, {0}, {0, 1, 2}})
    ->ArgsProduct({{512}, {384}, {1152, 1536}, {1, 2}, {0}, {0, 1, 2}})
    ->ArgsProduct({{512}, {1536}, {384}, {1, 2}, {0}, {0, 1, 2}})
    ->ArgsProduct({{2000, 180, 1}, {768}, {768}, {1, 2}, {0}, {0, 1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnscope::cpu
