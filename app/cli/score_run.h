#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Scores pairs with a worker, for `score` and `rerank`.

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/scored_pairs.h"
#include "base/result.h"
#include "base/written_file.h"
#include "engine/ranking/score_batches.h"
#include "engine/ranking/score_lines.h"
#include "engine/ranking/scoring_model.h"
#include "engine/report/precision_cost.h"
#include "engine/worker/worker_process.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

struct ScoreOptions {
  BatchLimits batches;
  std::size_t read_ahead = 1024;  // pairs
  bool shows_progress = false;    // on stderr
  bool keeps_part = true;         // keeps an incomplete output file
};

/// Whether `--activation` applies a sigmoid. Values: "none", "sigmoid", or "checkpoint", which is
/// what sentence-transformers' predict() applies: the stated activation, else a sigmoid for a
/// single label.
[[nodiscard]] Result<bool> applies_sigmoid(const ScoringModel& model,
                                           const std::string& activation);

/// Checks the tag of a TREC run: no blanks and no control characters.
[[nodiscard]] Status may_be_tag(const std::string& tag);

/// The tag of a run: the requested one, or the model's name without blanks and control characters.
[[nodiscard]] std::string run_tag(const std::string& tag, const std::string& model);

/// Adds the options of both commands for batch limits and for computing the last layer for [CLS]
/// alone.
void add_scoring_arguments(CLI::App& command, ModelArguments& model, ScoreOptions& options);

/// Raises the batch limits for cached documents, which need no encoding: all pairs of a query that
/// are read ahead are scored together, and the worker bounds its own memory.
void enlarge_for_cache(const CLI::App& command, ScoreOptions& options);

/// Options of `score` and `rerank` that measure the cost of reduced-precision products.
struct PrecisionArguments {
  std::int64_t sample = 256;
  bool is_sample_given = false;
  std::string qrels;
};
void add_precision_arguments(CLI::App& command, PrecisionArguments& arguments);

/// A second worker that scores a sample of the pairs in float32.
struct PrecisionComparison {
  WorkerProcess worker;
  std::int64_t sample = 0;  // pairs; below 0: all
  report::PrecisionCost cost;

  /// Nothing if the model computes in float32, or no comparison is requested. Errors: those of the
  /// worker and of the judgements; judgements for a model in float32.
  [[nodiscard]] static Result<std::optional<PrecisionComparison>> start(
      const ModelArguments& model, const ScoringModel& scored, const PrecisionArguments& asked,
      const std::atomic<int>* interrupted);
};

/// Prints the comparison's sentences to stderr.
void tell(const PrecisionComparison& comparison);

/// Scores pairs in a stream: reads a number of pairs ahead, batches them, has the worker score
/// them, and writes the scores in input order. Memory does not grow with the number of pairs.
class ScoreRun {
 public:
  /// Lines go to `out`, or to standard output if it is null. If `interrupted` rises above 0, the
  /// run ends after the pairs that are already scored.
  ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairSource& pairs, bool from_cache,
           ScoreLines lines, WrittenFile* out, const std::atomic<int>& interrupted,
           const ScoreOptions& options);
  /// Compares the scores with float32 scores as they arrive; `comparison` must outlive the run.
  void compare_with(PrecisionComparison& comparison) { comparison_ = &comparison; }
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
    std::vector<TokenPair> pairs;
    std::vector<std::int64_t> cached;  // cache number of each document
    std::vector<PairIds> ids;
    std::vector<std::int64_t> lines;  // line numbers in the file
    std::vector<std::optional<float>> scores;
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
  [[nodiscard]] nlohmann::json request_for(const ScoreBatch& batch, const Window& window) const;
  [[nodiscard]] Status score_batch(const ScoreBatch& batch, Window& window);
  /// Nothing if interrupted.
  [[nodiscard]] Result<std::optional<std::vector<float>>> scores_of(const ScoreBatch& batch,
                                                                    const Window& window,
                                                                    WorkerProcess& worker) const;
  [[nodiscard]] Status compare(const Window& window);
  /// The key of a pair's query: its id, or its tokens.
  [[nodiscard]] static std::string query_of(const Window& window, std::size_t at);
  /// The error for a pair whose score is not finite.
  [[nodiscard]] tl::unexpected<Error> no_score(const Window& window, std::size_t at) const;
  /// Writes the available scores at the window's beginning; an error for a score that is not
  /// finite.
  [[nodiscard]] Status write_ready(Window& window);
  [[nodiscard]] Status write(const std::string& text);
  [[nodiscard]] Status flush();
  void show_progress(const Window& window, std::size_t scored);

  const ScoringModel& model_;
  WorkerProcess& worker_;
  PairSource& reader_;
  bool from_cache_;
  ScoreLines lines_;
  std::optional<ScoreTies> ties_;
  std::string way_out_of_ties_;
  WrittenFile* out_;
  const std::atomic<int>& interrupted_;
  ScoreOptions options_;
  std::optional<ScoredPair> ahead_;  // first pair of the next query, for a listwise model
  std::unordered_set<std::size_t> scored_queries_;  // hashes, for a listwise model
  std::int64_t written_ = 0, scored_ = 0;
  bool is_output_lost_ = false;  // standard output failed
  double read_before_ = 0;       // progress of the file before this window
  CountLine progress_;
  PrecisionComparison* comparison_ = nullptr;
  std::function<std::string()> head_;
  std::string behind_head_;
};

}  // namespace attnscope::cli
