#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long a query waits until a given number of its documents is scored, and how many documents
// are scored within a time limit. The queries are a sample of a file of pairs, each with a given
// number of documents: its own, and other queries' if it has too few.
//
//   QuerySample sample(50);
//   while (sample.add(next_pair())) {}
//   const LatencyLimit limit{.seconds = 0.2, .percent = 95, .most = 1000};
//   LatencyMeter meter("pairs.tsv", model, worker, options, sample, 50, interrupted);
//   const auto largest = largest_within(limit, measured, [&](std::int64_t documents) {
//     return meter.single_stream(documents, {});
//   });

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/ranking/score_run.h"
#include "engine/ranking/scoring_model.h"
#include "engine/ranking/text_scorer.h"
#include "engine/text/pair_reader.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

/// A pair of a sample, which must outlive it.
struct PairView {
  std::string_view query, document;
  std::int64_t line = 0;  // first line of the query
};

/// A sample of queries from a file of pairs, each with a given number of documents.
class QuerySample {
 public:
  /// The maximum number of documents per query.
  static constexpr std::int64_t most_documents = 4096;

  /// Takes the first `most_queries` queries of a file.
  explicit QuerySample(std::int64_t most_queries) : most_queries_(most_queries) {}
  QuerySample(const QuerySample&) = delete;
  QuerySample& operator=(const QuerySample&) = delete;
  QuerySample(QuerySample&&) = default;
  QuerySample& operator=(QuerySample&&) = default;
  ~QuerySample() = default;

  /// Adds a pair, in file order; queries are distinguished by their ids, else by their texts.
  /// Returns whether another pair is needed: until one query more has come and there are
  /// most_documents.
  [[nodiscard]] bool add(TextPair pair);

  [[nodiscard]] std::size_t queries() const { return queries_.size(); }
  /// The number of documents available for a query: different texts of the file, at most
  /// most_documents.
  [[nodiscard]] std::int64_t documents() const;
  /// The query's own documents first, in file order, then those that follow its first document in
  /// the file, then from the beginning of the file; without duplicates. Preconditions: `query` <
  /// queries(), and top_k at most documents().
  [[nodiscard]] std::vector<PairView> ranking(std::size_t query, std::int64_t top_k) const;

  /// Documents in rankings of top_k that belong to other queries.
  struct Borrowed {
    std::int64_t queries = 0, documents = 0;
  };
  [[nodiscard]] Borrowed borrowed(std::int64_t top_k) const;

 private:
  struct Query {
    std::string text;
    std::int64_t line = 0;
    std::vector<std::size_t> own{};  // indices in documents_
  };
  /// The document's index in documents_.
  std::size_t place_of(std::string document);

  std::int64_t most_queries_;
  bool is_past_ = false;  // a pair of a query beyond the sample was added
  std::vector<Query> queries_;
  std::unordered_map<std::string, std::size_t> query_numbers_;
  std::unordered_map<std::string, std::size_t> document_places_;
  std::vector<std::string_view> documents_;  // the keys of document_places_, in file order
};

/// Calls with one query and top_k documents each.
struct TopKLatency {
  std::int64_t top_k = 0;
  std::vector<double> seconds{};  // of each call, run one at a time; at least one
  double offline_seconds = 0;     // for all queries, queued at once; 0: not measured
};

/// The least number of calls with one call beyond the percentile: 20 for p95, 100 for p99.
[[nodiscard]] std::int64_t least_calls(int percent);
[[nodiscard]] bool has_too_few(const TopKLatency& calls, int percent);
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

/// Scores and times rankings of a sample's queries.
class LatencyMeter {
 public:
  /// `file` is the source of the texts. The other arguments must outlive the object.
  LatencyMeter(std::string file, const ScoringModel& model, WorkerProcess& worker,
               const ScoreOptions& options, const QuerySample& sample, std::int64_t least_calls,
               const std::atomic<int>& interrupted)
      : scorer_(std::move(file), model, worker, options.batches, interrupted),
        sample_(sample),
        window_(model.is_listwise ? QuerySample::most_documents
                                  : static_cast<std::int64_t>(options.read_ahead)),
        ends_with_query_(model.is_listwise),
        least_calls_(least_calls) {}

  /// Estimates the total time from a call with one document and one with the maximum, after a
  /// warm-up call: all of `top_k` in both modes, and a simulated search for the largest top-k with
  /// these times.
  [[nodiscard]] Result<double> seconds_for(const std::vector<std::int64_t>& top_k,
                                           const LatencyLimit& limit);
  /// Calls per top-k: all queries, in as many passes as necessary.
  [[nodiscard]] std::int64_t calls() const;
  /// One query after the other, after a warm-up call. `on_call` takes the number of calls so far.
  [[nodiscard]] Result<TopKLatency> single_stream(
      std::int64_t top_k, const std::function<void(std::size_t calls)>& on_call);
  /// All queries, with a queue that keeps the worker busy; the mean over the passes.
  [[nodiscard]] Status add_offline(TopKLatency& calls);
  /// Mean number of tokens of a scored pair.
  [[nodiscard]] double tokens() const {
    return static_cast<double>(tokens_) / static_cast<double>(pairs_);
  }

 private:
  /// Time from the texts of the queries [first, end) to the scores of all their documents.
  [[nodiscard]] Result<double> seconds_of(std::size_t first, std::size_t end, std::int64_t top_k,
                                          std::size_t most_waiting);

  TextScorer scorer_;
  const QuerySample& sample_;
  std::int64_t window_;   // pairs that are batched together
  bool ends_with_query_;  // whether a window ends at the end of a query
  std::int64_t least_calls_;
  std::int64_t tokens_ = 0, pairs_ = 0;
};

}  // namespace attnscope
