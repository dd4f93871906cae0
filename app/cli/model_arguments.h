#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Options of `score`, `rerank`, `inspect`, `encode`, `train`, `latency` and `profile` that select a
// checkpoint, its attention and how pairs are scored; functions that start a worker and load the
// model; the comparison with float32 for --precision; and options for texts, with functions that
// open them: files of pairs, collections, data sets.

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "app/cli/worker_requests.h"
#include "base/result.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/score_run.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/ranking/scoring_model.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/text/pair_reader.h"
#include "engine/text/text_collection.h"
#include "engine/worker/worker_process.h"

namespace attnscope::cli {

/// Adds --checkpoint.
void add_checkpoint_option(CLI::App& command, std::filesystem::path& checkpoint);
/// Prints the revision of a checkpoint from the hub's cache.
void note_revision(const ScoringModel& model);

struct ModelArguments {
  ModelQuestion question;
  WorkerChoice worker;
  int threads = 0;  // 0: all cores of the worker
};
/// `dtype_option` is the name of the option that selects the dtype of the model.
void add_model_arguments(CLI::App& command, ModelArguments& arguments,
                         const char* dtype_option = "--dtype");

/// Opens the checkpoint that the arguments select.
[[nodiscard]] Result<ScoringModel> open_model(const ModelArguments& arguments);
/// Opens a checkpoint that outputs scores; any other checkpoint is an error.
[[nodiscard]] Result<ScoringModel> open_ranker(const ModelArguments& arguments);

/// Opens the document cache of --cache and prints its note; nothing if `file` is empty.
[[nodiscard]] Result<std::optional<OpenedCache>> open_cache(const std::string& file,
                                                            const ModelArguments& arguments,
                                                            const ScoringModel& model);

/// Starts the worker that the arguments select, on this machine. If `interrupted` (may be null)
/// rises above 0, the start is cancelled.
[[nodiscard]] Result<WorkerProcess> start_worker(const ModelArguments& arguments,
                                                 const std::atomic<int>* interrupted);
/// The number of threads to compute with: that of --threads, or all cores of the worker.
[[nodiscard]] int threads_of(const ModelArguments& arguments, const WorkerProcess& worker);

/// A worker with a loaded model.
struct ModelWorker {
  WorkerProcess process;
  std::string implementation;  // computes the model's attention
  int threads = 0;             // that compute
};
/// Errors: those of start_worker, and error events of the worker.
[[nodiscard]] Result<ModelWorker> start_model(const ModelArguments& arguments,
                                              protocol::ModelRequest request,
                                              const std::atomic<int>* interrupted);

/// wait_for_turn() for a measurement on the model's device.
[[nodiscard]] Result<TurnHolder> wait_for_turn(const ModelArguments& arguments, std::string what,
                                               bool now);

/// Adds the options for batch limits and for computing the last layer for [CLS] alone.
void add_scoring_arguments(CLI::App& command, ModelArguments& model, ScoreOptions& options);

/// Raises the batch limits for cached documents, which need no encoding: all pairs of a query that
/// are read ahead are scored together, and the worker limits its own memory.
void raise_limits_for_cache(const CLI::App& command, ScoreOptions& options);

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

  /// Nothing if the model computes in float32, or no comparison is requested. `cache` may be null.
  /// Errors: those of the worker, of the judgements and of the cache; judgements or a sample for a
  /// model in float32.
  [[nodiscard]] static Result<std::optional<PrecisionComparison>> start(
      const ModelArguments& model, const ScoringModel& scored, const PrecisionArguments& requested,
      const OpenedCache* cache);
};

/// Runs with progress on a terminal; then prints the comparison, which may be null, and the number
/// of equal scores.
[[nodiscard]] Status run_with_progress(ScoreRun& run, PrecisionComparison* comparison);

/// Adds --pairs, a required file of texts.
CLI::Option* add_pairs_option(CLI::App& command, std::string& file);

/// Passes the pairs of a file to `take` until it returns false or an error. A file without pairs is
/// an error.
[[nodiscard]] Status read_pairs(
    const std::string& file,
    const std::function<Result<bool>(const PairReader& reader, TextPair pair)>& take);

/// Indexes the texts of a file, with progress on a terminal; an interrupt cancels it.
[[nodiscard]] Result<TextCollection> open_texts(const std::string& file, PairParts parts);
/// Indexes both files.
[[nodiscard]] Result<RerankedTexts> open_texts(const std::string& queries,
                                               const std::string& documents);

/// Adds --run-columns.
void add_run_columns_option(CLI::App& command, effectiveness::ThirdColumn& third);

/// A data set that is selected by its folder.
struct BeirArguments {
  std::string folder, split = "test";

  [[nodiscard]] bool is_given() const { return !folder.empty(); }
};
/// Adds --beir, and --split if the command reads judgements.
void add_beir_options(CLI::App& command, BeirArguments& arguments, const std::string& what,
                      bool with_split = true);

struct BeirFiles {
  std::string queries, documents, qrels;
};
/// The files of the data set, with the judgements of its split if the command reads them.
[[nodiscard]] Result<BeirFiles> open_beir(const BeirArguments& arguments, bool with_qrels = true);
/// Sets the values of --queries and --documents, which must be empty, to the files of the data set;
/// returns the file of its judgements, or "" without `with_qrels`.
[[nodiscard]] Result<std::string> take_beir(const BeirArguments& arguments, std::string& queries,
                                            std::string& documents, bool with_qrels);

}  // namespace attnscope::cli
