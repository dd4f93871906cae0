#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Options of `score`, `rerank`, `inspect`, `encode` and `train` that select a checkpoint and its
// attention, and functions that start a worker and load the model.

#include <atomic>
#include <filesystem>
#include <string>

#include "app/cli/worker_requests.h"
#include "engine/ranking/scoring_model.h"
#include "engine/worker/worker_process.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

/// Adds --checkpoint.
void add_checkpoint_option(CLI::App& command, std::filesystem::path& checkpoint);
/// Prints the revision of a checkpoint from the hub's cache.
void note_place(const ScoringModel& model);

struct ModelArguments {
  ModelQuestion question;
  WorkerChoice worker;
  int threads = 0;  // 0: every core of the worker
};
/// `dtype_option` is the name of the option that selects the dtype of the model.
void add_model_arguments(CLI::App& command, ModelArguments& arguments,
                         const std::string& dtype_option = "--dtype");

/// Opens the checkpoint that the arguments select.
[[nodiscard]] Result<ScoringModel> open_model(const ModelArguments& arguments);
/// Opens a checkpoint that outputs scores; any other checkpoint is an error.
[[nodiscard]] Result<ScoringModel> open_ranker(const ModelArguments& arguments);

/// Starts the worker that the arguments select, on this machine. If `interrupted` (may be null)
/// rises above 0, the start is cancelled.
[[nodiscard]] Result<WorkerProcess> start_worker(const ModelArguments& arguments,
                                                 const std::atomic<int>* interrupted);

/// A worker with a loaded model.
struct ModelWorker {
  WorkerProcess process;
  std::string implementation;  // computes the model's attention
};
/// Errors: those of start_worker, and error events of the worker.
[[nodiscard]] Result<ModelWorker> start_model(const ModelArguments& arguments,
                                              protocol::ModelRequest request,
                                              const std::atomic<int>* interrupted);

}  // namespace attnscope::cli
