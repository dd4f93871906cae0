#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Scores pairs with a worker and writes the scores as lines; the documents may be in a cache that
// is opened in this process and in the worker.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/written_file.h"
#include "engine/documents/document_cache.h"
#include "engine/ranking/score_lines.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/ranking/scoring_model.h"
#include "engine/ranking/text_scorer.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

/// A cache of encoded documents, opened for scoring in this process and in the worker.
struct OpenedCache {
  DocumentCache documents;
  std::string name;
  std::uintmax_t bytes = 0;  // size at the time of opening
  std::string note{};        // how its documents were cut, if the model cuts others

  /// The worker has the weights and checks whether the model encoded these documents. Errors: a
  /// model without a cache, documents without ids, another tokenizer or limit.
  [[nodiscard]] static Result<OpenedCache> open(const std::string& name,
                                                const ModelQuestion& question,
                                                const ScoringModel& model);
  [[nodiscard]] Status open_in(WorkerProcess& worker) const;
  /// A worker that reads past the end of a mapped file that was truncated dies without a message.
  /// Returns that cause in place of the worker's error.
  [[nodiscard]] Error explained(const Error& error) const;
};

struct ScoreOptions {
  BatchLimits batches;
  std::size_t read_ahead = 1024;  // pairs
  bool keeps_part = true;         // keeps an incomplete output file
};

/// Where lines are written: a file, or a stream if it is null, which writes each text at once.
struct ScoreOutput {
  WrittenFile* file = nullptr;
  std::function<Status(const std::string& text)> stream{};
};

/// Whether `--activation` applies a sigmoid. Values: "none", "sigmoid", or "checkpoint", which is
/// what sentence-transformers' predict() applies: the stated activation, else a sigmoid for a
/// single label.
[[nodiscard]] Result<bool> applies_sigmoid(const ScoringModel& model,
                                           const std::string& activation);

/// Checks the tag of a TREC run: no blanks and no control characters.
[[nodiscard]] Status may_be_tag(const std::string& tag);

/// The tag of a run: the requested one, or the model's name and variant without blanks and control
/// characters.
[[nodiscard]] std::string run_tag(const std::string& tag, const ScoringModel& model);

/// Scores pairs in a stream: reads a number of pairs ahead, batches them, has the worker score
/// them, and writes the scores in input order. Memory does not grow with the number of pairs.
class ScoreRun {
 public:
  /// If `interrupted` rises above 0, the run ends after the pairs that are already scored.
  ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairSource& pairs, bool from_cache,
           ScoreLines lines, ScoreOutput out, const std::atomic<int>& interrupted,
           const ScoreOptions& options);
  /// `on_progress` takes the number of pairs scored and, if known, the share of the input, from 0
  /// to 1; `on_end` is called before the last lines are written.
  void report_to(std::function<void(std::int64_t pairs, std::optional<double> share)> on_progress,
                 std::function<void()> on_end) {
    on_progress_ = std::move(on_progress);
    on_end_ = std::move(on_end);
  }
  /// Has a second worker score the first `sample` pairs, too, all if it is below 0; the second
  /// worker must outlive the run. `add` takes the query's and the document's id and both scores.
  using AddCompared = std::function<void(const std::string& query, const std::string& document,
                                         float score, float exact)>;
  void compare_with(WorkerProcess& exact, std::int64_t sample, AddCompared add) {
    comparison_ = {.worker = &exact, .sample = sample, .add = std::move(add)};
  }
  /// Counts documents of a query with equal scores, if the model computes in lower precision than
  /// float32; ties_in_words() then returns their number and how to separate them, or "".
  void count_ties_of(const ModelQuestion& question);
  [[nodiscard]] std::string ties_in_words() const;
  /// `head` returns the first lines of the output file after all pairs are scored; until then the
  /// other lines are kept in memory.
  void begin_with(std::function<std::string()> head) { head_ = std::move(head); }

  /// Runs until the last pair, an error or an interrupt. The scores of all earlier pairs are
  /// written, unless the options discard incomplete files.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t written() const { return written_; }
  [[nodiscard]] bool was_interrupted() const { return interrupted_ > 0; }

 private:
  struct Window {
    std::vector<ScoredPair> pairs;
    std::size_t written = 0;
    std::optional<Error> error;  // error after the last pair
    bool last = false;
  };
  [[nodiscard]] Window read_window();
  /// The next pair, from the read-ahead buffer first.
  [[nodiscard]] Result<std::optional<ScoredPair>> next_pair();
  /// For a listwise model: whether the pair belongs to another query than the window. An error if
  /// that query was scored before, or if its documents exceed the read-ahead limit.
  [[nodiscard]] Result<bool> begins_another_set(const Window& window, const ScoredPair& pair);
  [[nodiscard]] Status score(Window& window);
  [[nodiscard]] protocol::ScoreRequest request_for(const ScoreBatch& batch,
                                                   const Window& window) const;
  /// Nothing if interrupted.
  [[nodiscard]] Result<std::optional<std::vector<float>>> scores_of(const ScoreBatch& batch,
                                                                    const Window& window,
                                                                    WorkerProcess& worker) const;
  [[nodiscard]] Status compare(const Window& window);
  /// The key of a pair's query: its id, or its tokens.
  [[nodiscard]] static std::string query_of(const ScoredPair& pair);
  /// The lines of the next pairs that have scores; an error for a score that is not finite.
  [[nodiscard]] Status add_lines(Window& window, std::string& lines);
  [[nodiscard]] Status write(const std::string& text);

  const ScoringModel& model_;
  WorkerProcess& worker_;
  PairSource& reader_;
  bool from_cache_;
  ScoreLines lines_;
  std::optional<ScoreTies> ties_;
  std::string advice_on_ties_;
  ScoreOutput out_;
  const std::atomic<int>& interrupted_;
  ScoreOptions options_;
  std::optional<ScoredPair> ahead_;  // first pair of the next query, for a listwise model
  std::unordered_set<std::size_t> scored_queries_;  // hashes, for a listwise model
  std::int64_t written_ = 0, scored_ = 0;
  bool is_output_lost_ = false;  // the stream failed
  double read_before_ = 0;       // progress of the file before this window
  std::function<void(std::int64_t, std::optional<double>)> on_progress_;
  std::function<void()> on_end_;
  struct Comparison {
    WorkerProcess* worker = nullptr;
    std::int64_t sample = 0, pairs = 0;  // to compare, compared
    AddCompared add;
  };
  std::optional<Comparison> comparison_;
  std::function<std::string()> head_;
  std::string after_head_;
};

}  // namespace attnscope
