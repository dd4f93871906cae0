#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long queries wait until so many documents of theirs are scored, and how many are scored in
// time.
//
//   const LatencyLimit limit{.seconds = 0.2, .percent = 95, .most = 1000};
//   const auto largest = largest_within(limit, measured, measure);
//   print(write_latency({.model = "minilm", .limit = limit, .rows = measured, .largest = *largest},
//                       TableFormat::text));

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/report/sheet.h"
#include "kernels/base/result.h"

namespace attnscope::report {

/// Calls with one query and so many documents each.
struct TopKLatency {
  std::int64_t top_k = 0;
  std::vector<double> seconds{};  // of each call, none beside another; at least one
  double offline_seconds = 0;     // of all queries, queued at once; 0: not measured
};

/// So many calls have one beyond a percentile: 20 of p95, 100 of p99.
[[nodiscard]] std::int64_t least_calls(int percent);
/// Seconds that `percent` of the calls take at most; the longest call where there are too few.
[[nodiscard]] double latency_at(const TopKLatency& calls, int percent);

struct LatencyLimit {
  double seconds = 0.2;
  int percent = 95;       // of the calls are within it
  std::int64_t most = 0;  // documents that a query can be given; at least 1
};

/// Neighbours that were measured, at most one document or 5 % apart.
struct LargestTopK {
  std::optional<TopKLatency> within{};  // none: one document is beyond the limit already
  std::optional<TopKLatency> beyond{};  // none: the most there are is within it
};

/// Doubles from the largest of `known` that is within, then halves, by measuring alone. Where noise
/// has a larger top_k within the limit than one beyond it, the smaller ones count. Errors are those
/// of `measure`.
[[nodiscard]] Result<LargestTopK> largest_within(
    const LatencyLimit& limit, std::span<const TopKLatency> known,
    const std::function<Result<TopKLatency>(std::int64_t)>& measure);

struct ModelLatency {
  std::string model, pairs, implementation, dtype;
  std::string device;  // "2 threads", "cuda"
  std::int64_t queries = 0;
  double tokens = 0;  // of a pair, the mean
  LatencyLimit limit;
  std::string most_in_words;  // why it is the limit's most: "all that pairs.tsv has"
  std::vector<TopKLatency> rows{};
  LargestTopK largest{};
  std::vector<std::string> notes{};  // on what was measured
};

/// "Up to 43 documents a query are re-ranked within 200 ms (p95 of 60 queries: 196 ms; 45 took 204
/// ms)"
[[nodiscard]] std::string answer_in_words(const ModelLatency& latency);
[[nodiscard]] std::string write_latency(const ModelLatency& latency, TableFormat format);

}  // namespace attnscope::report
