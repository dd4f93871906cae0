#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Options of the commands that score pairs, and the comparison with float32 that --precision
// brings.

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/model_arguments.h"
#include "base/result.h"
#include "engine/ranking/opened_cache.h"
#include "engine/ranking/score_run.h"
#include "engine/ranking/scoring_model.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/worker/worker_process.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

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
  /// worker, of the judgements and of the cache, which may be null; judgements for a model in
  /// float32.
  [[nodiscard]] static Result<std::optional<PrecisionComparison>> start(
      const ModelArguments& model, const ScoringModel& scored, const PrecisionArguments& requested,
      const OpenedCache* cache);
};

/// Runs with progress on a terminal; then prints what the comparison, which may be null, and the
/// count of equal scores show.
[[nodiscard]] Status run_with_progress(ScoreRun& run, PrecisionComparison* comparison);

}  // namespace attnscope::cli
