// SPDX-License-Identifier: Apache-2.0
//
// How long a query takes against candidates that were encoded before, at BERT-base: 20 tokens of
// query, 180 of each candidate, random weights and rows.
//
//   attnscope_late_online [ROW [CANDIDATES [TURNS [THREADS]]]]
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/heat/model_row.h"
#include "engine/measure/block_cache.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {
namespace {

constexpr std::int64_t tokens_of_query = 19;      // and [CLS]
constexpr std::int64_t tokens_of_document = 179;  // and [CLS]

/// Rows that no document was encoded to: what they hold makes no difference to the time.
DocumentCache drawn_cache(const Model& model, std::int64_t candidates,
                          const DocumentCache::Maker& maker) {
  const CachedRows kept = *model.cached_rows(tokens_of_document);
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i <= candidates; ++i) offsets.push_back(i * kept.rows);
  std::vector<std::byte> bytes(static_cast<std::size_t>(offsets.back() * kept.width) *
                               sizeof(float));
  std::mt19937 draw(1);
  std::uniform_real_distribution<float> number(-1, 1);
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) values[i] = number(draw);
  return {maker, kept.width, std::move(offsets), std::move(bytes)};
}

int run(const std::string& name, std::int64_t candidates, int turns, int threads) {
  const c10::InferenceMode no_graph;
  at::set_num_threads(threads);
  const auto row = parse_model_row(name);
  if (!row) {
    std::fprintf(stderr, "%s %s\n", name.c_str(), row.error().message.c_str());
    return 2;
  }
  const ModelShape shape{.layers = 12, .hidden = 768, .heads = 12, .feed_forward = 3072};
  const Family& family = family_of(*row->family);
  const auto weights = ModelWeights::random(row->family->config_for(shape, {&*row, 1}), {});
  const auto model = family.make(weights,
                                 {.pattern = *find_pattern(row->pattern),
                                  .window = Window::of(16),
                                  .options = row->options,
                                  .threads = threads},
                                 "segment");
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 2;
  }
  const std::vector<std::int32_t> text(1, 102);
  const TokenIds document = text;
  const auto made = (*model)->encode_documents({&document, 1}, 101);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message.c_str());
    return 2;
  }
  const DocumentCache cache = drawn_cache(**model, candidates, made->maker());
  std::vector<std::int32_t> query(static_cast<std::size_t>(tokens_of_query), 2000);
  query.back() = 102;
  PairBatch batch{.items = {}, .one_query = true, .documents = &cache};
  for (std::int64_t i = 0; i < candidates; ++i) batch.items.push_back({query, {}, i});
  std::vector<double> seconds;
  for (int turn = 0; turn <= turns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    if (!(*model)->score(batch)) std::abort();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  seconds.erase(seconds.begin());
  std::ranges::sort(seconds);
  const ModelWork work = *(*model)->work(batch);
  const double flop = work.linear_flop + work.attention_flop;
  std::printf(
      "%s, %ld candidates, %d threads: median %.1f ms, least %.1f ms; %.2f GFLOP, %.1f GFLOP/s; "
      "cache %.1f MB, %.2f GB/s\n",
      name.c_str(), static_cast<long>(candidates), threads, seconds[seconds.size() / 2] * 1e3,
      seconds.front() * 1e3, flop * 1e-9, flop * 1e-9 / seconds.front(),
      static_cast<double>(cache.bytes()) * 1e-6,
      static_cast<double>(cache.bytes()) * 1e-9 / seconds.front());
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  const auto number = [&](int place, std::int64_t otherwise) {
    const std::int64_t given = argc > place ? std::strtoll(argv[place], nullptr, 10) : otherwise;
    return std::max<std::int64_t>(given, 1);
  };
  static_cast<void>(attnscope::measure::process_memory());
  return attnscope::run(argc > 1 ? argv[1] : "mixencoder-a", number(2, 1000),
                        static_cast<int>(number(3, 10)), static_cast<int>(number(4, 2)));
}
