#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs the steps of a training with a worker: records, saves, validates and keeps weights, and
// writes the final folder after the last step.

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/ranking/scoring_model.h"
#include "engine/ranking/training_curve.h"
#include "engine/ranking/training_folder.h"
#include "engine/text/training_file.h"
#include "engine/worker/model_messages.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

inline constexpr std::int64_t validation_depth = 100;  // documents of a query

/// The run that is re-ranked periodically for validation, with its judgements and texts.
struct Validation {
  effectiveness::TrecRun run;
  effectiveness::Qrels qrels;
  RerankedTexts texts;
};

/// All inputs, checked before a worker is started.
struct ReadyToTrain {
  ScoringModel model;
  TrainingFile file;
  std::optional<RerankedTexts> texts;
  std::optional<Validation> validation;
  nlohmann::json settings;
  FoundState before;
};

/// Ok, or why options and checkpoint do not make a training. Checks the model's family before
/// anything else of the checkpoint: labels and options are irrelevant if it cannot be trained.
[[nodiscard]] Status check_training(const TrainRunOptions& options);

/// What a training reports.
struct TrainingEvents {
  std::function<void(const TrainedStep& step)> on_computed;                // before it is validated
  std::function<void(const TrainedStep& step, bool is_best)> on_recorded;  // in the curve
  std::function<void(std::int64_t step)> on_saved;
};

class TrainRun {
 public:
  /// Has the worker begin the training, or resume it, with this number of threads, and takes the
  /// folder. The arguments must outlive the object, and `ready` is moved from.
  [[nodiscard]] static Result<TrainRun> begin(const TrainRunOptions& options, ReadyToTrain& ready,
                                              WorkerProcess& worker, int threads,
                                              TrainingEvents events,
                                              const std::atomic<int>& interrupted);

  /// Runs to the last step and then writes the complete folder, or until an interrupt and then
  /// saves the state. After an error the previously saved state remains.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t done() const { return done_; }
  [[nodiscard]] const std::optional<KeptStep>& kept() const { return kept_; }
  [[nodiscard]] const TrainingData& data() const { return data_; }
  /// Returns the attention as the trained folder states it.
  [[nodiscard]] TrainedAttention attention() const;

 private:
  TrainRun(const TrainRunOptions& options, ReadyToTrain& ready, WorkerProcess& worker, int threads,
           TrainingCurveFile curve, std::int64_t done, TrainingEvents events,
           const std::atomic<int>& interrupted);
  [[nodiscard]] Status take_step(const protocol::StepTrained& answer);
  [[nodiscard]] Status save();
  [[nodiscard]] Result<double> validate();
  /// Keeps the weights if the step is the best so far; returns whether it is.
  [[nodiscard]] Result<bool> keep_if_best(double ndcg);
  [[nodiscard]] Status finish();
  /// Writes the files that accompany the weights; removes those of another training.
  [[nodiscard]] Status write_folder();
  /// Compares scores of some pairs by the written folder with those of the trained weights.
  [[nodiscard]] Status check_folder();
  [[nodiscard]] Result<std::vector<float>> scores_of(const std::vector<TokenPair>& pairs);

  const TrainRunOptions& options_;
  ReadyToTrain& ready_;
  WorkerProcess& worker_;
  int threads_;
  TrainingData data_;
  TrainingCurveFile curve_;
  std::int64_t done_;
  std::optional<KeptStep> kept_;
  TrainingEvents events_;
  const std::atomic<int>& interrupted_;
};

}  // namespace attnscope
