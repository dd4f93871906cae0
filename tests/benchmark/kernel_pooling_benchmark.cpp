// SPDX-License-Identifier: Apache-2.0
//
// Times kernel pooling of existing document vectors, together with its bounds: the multiply-adds of
// its cosines, the exponentials of its definition, and, for documents in main memory, reading them.
// One thread by its CPU time, and the fastest call: a shared machine only makes calls slower.
//
// Exponentials: 11 kernels for each pair of query row and token, and for regions 11 powers, counted
// as one each, for each pair of query row and region. `of_exponentials` is the share of their rate
// that a call reaches with its cosines; `of_both` that of the time that its multiply-adds and
// exponentials take one after the other.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <vector>

#include "kernels/cpu/instruction_set.h"
#include "kernels/cpu/kernel_pooling.h"
#include "kernels/cpu/selected_kernels.h"
#include "tests/benchmark/fma_peak.h"

namespace attnscope::cpu {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Work>
double seconds_of_call(const Work& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

/// The largest rate of some short trials of one thread.
template <typename Work>
double best_rate(double amount, const Work& work) {
  double best = 0;
  for (int trial = 0; trial < 400; ++trial) best = std::max(best, amount / seconds_of_call(work));
  return best;
}

double exponentials_a_second() {
  std::vector<float> in(1024), out(1024);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = -static_cast<float>(i) / 16;
  const KernelTable* kernels = *selected_kernels();
  return best_rate(1024.0 * 1000, [&] {
    for (int pass = 0; pass < 1000; ++pass) {
      kernels->exponentials(in.data(), 1024, out.data());
      benchmark::DoNotOptimize(out.data());
    }
  });
}

double flop_a_second() {
  const InstructionSet set = *selected_set();
  return best_rate(burn_multiply_adds(set, 20000), [&] { burn_multiply_adds(set, 20000); });
}

/// Documents one after the other, whose cosines with the query lie about 1/4.
struct PooledTexts {
  PooledTexts(std::int64_t query_rows, std::int64_t width, std::int64_t length, std::int64_t count)
      : query(static_cast<std::size_t>(query_rows * width)),
        tokens(static_cast<std::size_t>(length * count * width)),
        factor(static_cast<std::size_t>(query_rows * 31), 100.0F),
        exponent(factor.size(), 0.01F),
        kernel_weights(pooling_kernels, 0.01F) {
    std::mt19937 draw(1);
    std::normal_distribution<float> normal;
    for (float& value : query) value = normal(draw);
    const float shared = 0.28F / std::sqrt(static_cast<float>(query_rows));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::size_t c = i % static_cast<std::size_t>(width);
      float sum = 0;
      for (std::size_t at = c; at < query.size(); at += static_cast<std::size_t>(width))
        sum += query[at];
      tokens[i] = shared * sum + normal(draw);
    }
    documents.reserve(static_cast<std::size_t>(count));
    for (std::int64_t d = 0; d < count; ++d) documents.push_back({d * length, (d + 1) * length});
    call = {.pooling = {.query = {query.data(), width},
                        .query_rows = query_rows,
                        .tokens = {tokens.data(), width},
                        .token_rows = length * count,
                        .width = width,
                        .documents = documents},
            .saturation = {.factor = factor, .exponent = exponent, .constant = factor},
            .kernel_weights = kernel_weights};
  }
  std::vector<float> query, tokens, factor, exponent, kernel_weights;
  std::vector<TokenRange> documents;
  RegionCall call;
};

enum class Pooled : std::uint8_t { sums, regions };

// Query rows, tokens, documents, whether rows are normalised already.
template <Pooled what>
void pooling(benchmark::State& state) {
  const std::int64_t rows = state.range(0), length = state.range(1), count = state.range(2);
  constexpr std::int64_t width = 300;
  PooledTexts texts(rows, width, length, count);
  PoolingCall& call = texts.call.pooling;
  if (state.range(3) == 1) {
    for (std::int64_t t = 0; t < call.token_rows; ++t) {
      float* row = texts.tokens.data() + t * width;
      float sum = 0;
      for (std::int64_t c = 0; c < width; ++c) sum += row[c] * row[c];
      for (std::int64_t c = 0; c < width; ++c) row[c] /= std::sqrt(sum);
    }
    call.tokens_normalised = true;
  }
  std::vector<float> workspace(static_cast<std::size_t>(pooling_workspace_floats(call, 1)));
  std::vector<float> sums(static_cast<std::size_t>(count * rows * pooling_kernels));
  std::vector<float> scores(static_cast<std::size_t>(count * regions_of(length)));
  double least = INFINITY;
  for (auto _ : state) {
    Status done;
    least = std::min(least, seconds_of_call([&] {
                       done = what == Pooled::sums
                                  ? pooled_sums(call, sums, 1, workspace)
                                  : region_scores(texts.call, scores, 1, workspace);
                     }));
    if (!done) state.SkipWithError(done.error().message.c_str());
  }
  const auto pairs = static_cast<double>(rows * count * length);
  double exponentials = static_cast<double>(pooling_kernels) * pairs;
  if (what == Pooled::regions)
    exponentials += static_cast<double>(pooling_kernels * rows * count * regions_of(length));
  const double of_exponentials = exponentials / exponentials_a_second();
  const double of_products = 2.0 * width * pairs / flop_a_second();
  state.counters["best_us"] = least * 1e6;
  state.counters["ns_a_word"] = least * 1e9 / static_cast<double>(count * length);
  state.counters["of_exponentials"] = of_exponentials / least;
  state.counters["of_both"] = (of_exponentials + of_products) / least;
}

void machine_rates(benchmark::State& state) {
  state.counters["exponentials"] = exponentials_a_second();
  state.counters["flop"] = flop_a_second();
  for (auto _ : state) benchmark::DoNotOptimize(state.counters.size());
}

BENCHMARK(machine_rates)->Name("rates")->Iterations(1);
BENCHMARK(pooling<Pooled::regions>)
    ->Name("regions")
    ->ArgsProduct({{10}, {1000, 2000}, {1}, {0, 1}})
    ->ArgsProduct({{4, 12, 30}, {1000}, {1}, {1}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(pooling<Pooled::sums>)
    ->Name("sums")
    ->ArgsProduct({{10}, {200, 1000}, {1}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);
// Each has the same number of words, in main memory.
BENCHMARK(pooling<Pooled::regions>)
    ->Name("growth")
    ->Args({10, 1000, 64, 1})
    ->Args({10, 4000, 16, 1})
    ->Args({10, 16000, 4, 1})
    ->Args({10, 64000, 1, 1})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace attnscope::cpu
