#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Pairs scored by a worker as `score` and `rerank` do it.

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
#include "engine/report/precision_cost.h"
#include "engine/scoring/score_batches.h"
#include "engine/scoring/score_lines.h"
#include "engine/scoring/scoring_model.h"
#include "engine/sweep/worker_process.h"
#include "kernels/base/result.h"
#include "kernels/base/written_file.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

struct ScoreOptions {
  BatchLimits batches;
  std::size_t read_ahead = 1024;  // pairs
  bool shows_progress = false;    // on stderr
  bool keeps_part = true;         // of an output file, where not all pairs are scored
};

/// Whether `--activation` stands for a sigmoid: "none", "sigmoid", or "checkpoint", which is what
/// sentence-transformers' predict() applies: the stated one, else a sigmoid for a single label.
[[nodiscard]] Result<bool> applies_sigmoid(const ScoringModel& model,
                                           const std::string& activation);

/// Of a TREC run: without blanks and control characters.
[[nodiscard]] Status may_be_tag(const std::string& tag);

/// The tag of a run: what is requested, or the model's name without blanks and control characters.
[[nodiscard]] std::string run_tag(const std::string& tag, const std::string& model);

/// How both are told what is scored together, and that the last layer may be computed for [CLS]
/// alone.
void add_scoring_arguments(CLI::App& command, ModelArguments& model, ScoreOptions& options);

/// The limits of batches of a cache's documents, which are not encoded: a query's are scored
/// together as far as they are read ahead, and the worker keeps within its memory.
void enlarge_for_cache(const CLI::App& command, ScoreOptions& options);

/// What products in fewer bits cost, asked for beside `score` and `rerank`.
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

  /// None where the model computes in float32, or nobody wants to know. Errors: those of the worker
  /// and of the judgements; judgements beside a model in float32.
  [[nodiscard]] static Result<std::optional<PrecisionComparison>> start(
      const ModelArguments& model, const ScoringModel& scored, const PrecisionArguments& asked,
      const std::atomic<int>* interrupted);
};

/// Its sentences, on stderr.
void tell(const PrecisionComparison& comparison);

/// Scores pairs as they are read: so many are read ahead, put into batches, scored by the worker,
/// and written in the order in which they came. Memory does not grow with their number.
class ScoreRun {
 public:
  /// Lines go into `out`, or to standard output; `interrupted` above 0 ends the run after what is
  /// finished.
  ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairSource& pairs, bool from_cache,
           ScoreLines lines, WrittenFile* out, const std::atomic<int>& interrupted,
           const ScoreOptions& options);
  /// Sets scores beside those of float32 as they come; it outlives the run.
  void compare_with(PrecisionComparison& comparison) { comparison_ = &comparison; }
  /// Counts documents of a query that share a score, where the model computes in fewer bits than
  /// float32; ties_in_words() is then a note of how many and of what tells them apart, or "".
  void count_ties_of(const ModelQuestion& question);
  [[nodiscard]] std::string ties_in_words() const;
  /// Of an output file: `head` makes its first lines once all is scored, and until then the others
  /// are kept in memory.
  void begin_with(std::function<std::string()> head) { head_ = std::move(head); }

  /// Until the last pair, an error or the interrupt. Scores of all pairs before are then written,
  /// unless the options keep no part of a file.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t written() const { return written_; }
  [[nodiscard]] bool was_interrupted() const { return interrupted_ > 0; }

 private:
  struct Window {
    std::vector<TokenPair> pairs;
    std::vector<std::int64_t> cached;  // numbers in the cache, of each
    std::vector<PairIds> ids;
    std::vector<std::int64_t> lines;  // of the file
    std::vector<std::optional<float>> scores;
    std::size_t written = 0;
    std::optional<Error> error;  // what came behind them
    bool last = false;
  };
  [[nodiscard]] Window read_window();
  /// The next pair, or the one that was read ahead.
  [[nodiscard]] Result<std::optional<ScoredPair>> next_pair();
  /// Of a listwise model: the pair is another query's than the window's; an error where that query
  /// was scored before, or the set does not fit what is read ahead.
  [[nodiscard]] Result<bool> begins_another_set(const Window& window, const ScoredPair& pair);
  [[nodiscard]] Status score(Window& window);
  [[nodiscard]] nlohmann::json request_for(const ScoreBatch& batch, const Window& window) const;
  [[nodiscard]] Status score_batch(const ScoreBatch& batch, Window& window);
  /// None once interrupted.
  [[nodiscard]] Result<std::optional<std::vector<float>>> scores_of(const ScoreBatch& batch,
                                                                    const Window& window,
                                                                    WorkerProcess& worker) const;
  [[nodiscard]] Status compare(const Window& window);
  /// What a pair's query is known by: its id, or its tokens.
  [[nodiscard]] static std::string query_of(const Window& window, std::size_t at);
  /// Why a pair has none.
  [[nodiscard]] tl::unexpected<Error> no_score(const Window& window, std::size_t at) const;
  /// Scores at the window's beginning that are there; an error at one that is no number.
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
  std::optional<ScoredPair> ahead_;  // of the next query, where a window is one query's documents
  std::unordered_set<std::size_t> scored_queries_;  // hashes, of a listwise model
  std::int64_t written_ = 0, scored_ = 0;
  bool is_output_lost_ = false;  // standard output took no more
  double read_before_ = 0;       // how much of the file the windows before held
  CountLine progress_;
  PrecisionComparison* comparison_ = nullptr;
  std::function<std::string()> head_;
  std::string behind_head_;
};

}  // namespace attnscope::cli
