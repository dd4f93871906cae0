#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long a query waits until a given number of its documents is scored, and how many documents
// are scored within a time limit.
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

#include "base/result.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

/// Calls with one query and top_k documents each.
struct TopKLatency {
  std::int64_t top_k = 0;
  std::vector<double> seconds{};  // of each call, run one at a time; at least one
  double offline_seconds = 0;     // for all queries, queued at once; 0: not measured
};

/// The least number of calls with one call beyond the percentile: 20 for p95, 100 for p99.
[[nodiscard]] std::int64_t least_calls(int percent);
/// The time in seconds that `percent` of the calls do not exceed; the longest call if there are too
/// few.
[[nodiscard]] double latency_at(const TopKLatency& calls, int percent);

struct LatencyLimit {
  double seconds = 0.2;
  int percent = 95;       // share of the calls that must be within it
  std::int64_t most = 0;  // most documents available for a query; at least 1
};

/// Measured neighbours of the limit, at most one document or 5 % apart.
struct LargestTopK {
  std::optional<TopKLatency> within{};  // empty: one document is already beyond the limit
  std::optional<TopKLatency> beyond{};  // empty: the largest available number is within it
};

/// Doubles from the largest `known` value within the limit, then bisects; only measured values
/// count. If noise puts a larger top_k within the limit than one beyond it, the smaller one counts.
/// Errors are those of `measure`.
[[nodiscard]] Result<LargestTopK> largest_within(
    const LatencyLimit& limit, std::span<const TopKLatency> known,
    const std::function<Result<TopKLatency>(std::int64_t)>& measure);

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

/// "Up to 43 documents a query are re-ranked within 200 ms (p95 of 60 queries: 196 ms; 45 took 204
/// ms)"
[[nodiscard]] std::string answer_in_words(const ModelLatency& latency);
[[nodiscard]] std::string write_latency(const ModelLatency& latency, TableFormat format);

}  // namespace attnscope::report
