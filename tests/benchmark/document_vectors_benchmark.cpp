// SPDX-License-Identifier: Apache-2.0
//
// Times products with cached vectors and largest products of cached documents, together with the
// rates that bound them: reading the rows, and multiply-adds. Sizes are those of BERT-base: a
// vector of 768 for each of 100,000 documents, ColBERT's 180 x 128 for each of 1000.
#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

#include "kernels/cpu/document_vectors.h"

namespace attnscope::cpu {
namespace {

/// Rows of ones: what they hold makes no difference to the time.
struct Cache {
  Cache(VectorFormat format, std::int64_t rows, std::int64_t width)
      : bytes(static_cast<std::size_t>(rows * width * attnscope::size_of(format)), std::byte{1}),
        scales(format == VectorFormat::int8 ? static_cast<std::size_t>(rows) : 0U, 1.0F),
        view{.data = bytes.data(),
             .format = format,
             .width = width,
             .rows = rows,
             .scales = scales.data()} {}
  std::vector<std::byte> bytes;
  std::vector<float> scales;
  VectorRows view;
};

void report(benchmark::State& state, const Cache& cache, std::int64_t queries) {
  const auto calls = static_cast<double>(state.iterations());
  const auto numbers = static_cast<double>(cache.view.rows * cache.view.width);
  state.counters["GB/s"] = benchmark::Counter(
      calls * static_cast<double>(cache.bytes.size()) * 1e-9, benchmark::Counter::kIsRate);
  state.counters["GFLOP/s"] = benchmark::Counter(
      calls * 2e-9 * numbers * static_cast<double>(queries), benchmark::Counter::kIsRate);
}

void products(benchmark::State& state) {
  const Cache cache(static_cast<VectorFormat>(state.range(0)), state.range(1), 768);
  const std::int64_t queries = state.range(2);
  const std::vector<float> query(static_cast<std::size_t>(768 * queries), 0.5F);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(cache.view.rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<float> found(static_cast<std::size_t>(cache.view.rows * queries));
  const int threads = static_cast<int>(state.range(3));
  std::vector<float> workspace(
      static_cast<std::size_t>(vector_workspace_floats(768, queries, threads)));
  for (auto _ : state) {
    const Status done =
        row_products(cache.view, numbers, query, queries, found, threads, workspace);
    if (!done) state.SkipWithError(done.error().message.c_str());
  }
  report(state, cache, queries);
}

void largest(benchmark::State& state) {
  constexpr std::int64_t documents = 1000, tokens = 180;
  const Cache cache(static_cast<VectorFormat>(state.range(0)), documents * tokens, 128);
  const std::int64_t queries = state.range(1);
  const std::vector<float> query(static_cast<std::size_t>(128 * queries), 0.5F);
  std::vector<TokenRange> ranges;
  for (std::int64_t d = 0; d < documents; ++d) ranges.push_back({d * tokens, (d + 1) * tokens});
  std::vector<float> found(static_cast<std::size_t>(documents * queries));
  const int threads = static_cast<int>(state.range(2));
  std::vector<float> workspace(
      static_cast<std::size_t>(vector_workspace_floats(128, queries, threads)));
  for (auto _ : state) {
    const Status done =
        largest_products(cache.view, ranges, query, queries, 0, found, threads, workspace);
    if (!done) state.SkipWithError(done.error().message.c_str());
  }
  report(state, cache, queries);
}

// Format, rows, queries, threads.
BENCHMARK(products)
    ->ArgsProduct({{0, 1, 3}, {100000}, {1}, {1, 2}})
    ->ArgsProduct({{0}, {1000}, {64, 360}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(largest)
    ->ArgsProduct({{0, 1, 3}, {20, 32}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnscope::cpu
