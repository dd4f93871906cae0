#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// How `score`, `rerank`, `inspect`, `encode` and `train` are told a checkpoint and the attention it
// computes with, and how they have a worker load it.

#include <string>

#include "app/cli/worker_requests.h"
#include "engine/scoring/scoring_model.h"
#include "engine/sweep/worker_process.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

/// Adds --checkpoint.
void add_checkpoint_option(CLI::App& command, std::string& checkpoint);
/// Says which revision a checkpoint of the hub's cache is.
void note_place(const ScoringModel& model);

struct ModelArguments {
  ModelQuestion question;
  std::string checkpoint;
  WorkerChoice worker;
  int threads = 0;  // 0: every core of the worker
};
/// `dtype_option`: what the model computes in is asked by.
void add_model_arguments(CLI::App& command, ModelArguments& arguments,
                         const std::string& dtype_option = "--dtype");

/// The checkpoint as the arguments have it.
[[nodiscard]] Result<ScoringModel> open_model(const ModelArguments& arguments);
/// The same of one that gives scores; another is an error.
[[nodiscard]] Result<ScoringModel> open_ranker(const ModelArguments& arguments);

/// A worker as the arguments say, on this machine. `interrupted` (may be null): above 0, the start
/// is given up.
[[nodiscard]] Result<WorkerProcess> start_worker(const ModelArguments& arguments,
                                                 const std::atomic<int>* interrupted);

/// A worker with the model of a request loaded.
struct ModelWorker {
  WorkerProcess process;
  std::string implementation;  // that computes its attention
};
/// Errors: those of start_worker, what it answers.
[[nodiscard]] Result<ModelWorker> start_model(const ModelArguments& arguments,
                                              nlohmann::json request,
                                              const std::atomic<int>* interrupted);

/// A pair as requests have it.
[[nodiscard]] nlohmann::json pair_json(const TokenPair& pair);

}  // namespace attnscope::cli
