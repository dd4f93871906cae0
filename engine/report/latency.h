#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A model's measured latency as a table and as an answer.
//
//   print(write_latency({.model = "minilm", .limit = limit, .rows = measured, .largest = *largest},
//                       TableFormat::text));

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ranking/latency.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

struct ModelLatency {
  std::string model, pairs, implementation, dtype;
  std::string device;  // "2 threads", "cuda"
  std::int64_t queries = 0;
  double tokens = 0;  // mean per pair
  LatencyLimit limit;
  std::string most_in_words;  // why limit.most has its value: "all that pairs.tsv has"
  std::vector<TopKLatency> rows{};
  LargestTopK largest{};
  std::vector<std::string> notes{};  // about the measurement
};

/// "Up to 43 documents per query are re-ranked within 200 ms (p95 of 60 queries: 196 ms; 45 took
/// 204 ms)"
[[nodiscard]] std::string answer_in_words(const ModelLatency& latency);
[[nodiscard]] std::string write_latency(const ModelLatency& latency, TableFormat format);

}  // namespace attnscope::report
