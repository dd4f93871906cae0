#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Runs the steps of a training with a worker: reports, saves, validates and keeps weights, and
// writes the final folder after the last step.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/reranked_pairs.h"
#include "app/cli/training_data.h"
#include "base/result.h"
#include "engine/checkpoint/trained_config.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/scoring_model.h"
#include "engine/report/training_curve.h"
#include "engine/text/training_file.h"
#include "engine/worker/worker_process.h"

namespace attnscope::cli {

inline constexpr const char* trained_model_file = "model.safetensors";
inline constexpr const char* validation_file = "validation.trec";
inline constexpr const char* training_state_file = "training-state.safetensors";
inline constexpr std::int64_t validation_depth = 100;  // documents of a query

struct TrainArguments {
  ModelArguments model;
  std::string triples, queries, documents, out;
  BeirArguments beir;
  bool margin_mse = false, ranknet = false, localized_ce = false;
  std::string schedule = "constant";
  StepShape shape;
  std::int64_t steps = 0, warm_up = -1, save_every = 500;
  double learning_rate = 7e-6, weight_decay = 0.01, clip = 1;
  bool recompute = false, restart = false, events = false;
  std::string validate_run, validate_queries, validate_documents, validate_qrels;
  effectiveness::ThirdColumn third_column = effectiveness::ThirdColumn::unknown;
  std::int64_t validate_every = 0;
  std::string keep;  // "best" or "last"; empty: the best if validated

  [[nodiscard]] std::string objective() const {
    if (margin_mse) return "margin-mse";
    return ranknet ? "ranknet" : "localized-ce";
  }
  /// A hundredth of the steps, as in the paper: 1,000 of 100,000.
  [[nodiscard]] std::int64_t warm_up_steps() const { return warm_up < 0 ? steps / 100 : warm_up; }
  [[nodiscard]] bool validates() const { return !validate_run.empty(); }
  [[nodiscard]] std::int64_t steps_to_validation() const {
    return validate_every > 0 ? validate_every : save_every;
  }
  [[nodiscard]] bool keeps_best() const { return keep.empty() ? validates() : keep == "best"; }
  [[nodiscard]] std::filesystem::path in_folder(std::string_view name) const {
    return std::filesystem::path(out) / name;
  }
};

/// The run that is re-ranked periodically for validation, with its judgements and texts.
struct Validation {
  effectiveness::TrecRun run;
  effectiveness::Qrels qrels;
  RerankedTexts texts;
};

/// The step whose weights are the best so far.
struct KeptStep {
  std::int64_t step = 0;
  double ndcg = 0;
};

/// A lock on a folder, released with the last copy.
using FolderClaim = std::shared_ptr<const int>;

/// All inputs, checked before a worker is started.
struct ReadyToTrain {
  ScoringModel model;
  TrainingFile file;
  std::optional<RerankedTexts> texts;
  std::optional<Validation> validation;
  nlohmann::json settings, settings_before;  // of the state, and of the state to resume
  FolderClaim claim;
  bool resumes = false;
  std::optional<KeptStep> kept;  // from the state to resume
};

/// Converts the kept step to and from the JSON of a state; null if none is kept.
[[nodiscard]] nlohmann::json to_json(const std::optional<KeptStep>& kept);
[[nodiscard]] std::optional<KeptStep> kept_step(const nlohmann::json& json);

class TrainRun {
 public:
  /// The worker has begun the training, or resumed it after the step `done`. The arguments must
  /// outlive the object, and `ready` is moved from.
  [[nodiscard]] static Result<TrainRun> make(const TrainArguments& arguments, ReadyToTrain& ready,
                                             WorkerProcess& worker, std::int64_t done);

  /// Runs to the last step and then writes the complete folder, or until an interrupt and then
  /// saves the state. After an error the previously saved state remains.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t done() const { return done_; }
  /// Why standard output did not accept one of the events; empty if it accepted all.
  [[nodiscard]] const std::string& lost_events() const { return lost_events_; }

 private:
  TrainRun(const TrainArguments& arguments, ReadyToTrain& ready, WorkerProcess& worker,
           report::TrainingCurveFile curve, std::int64_t done);
  void say_begin() const;
  [[nodiscard]] Status take_step(const nlohmann::json& answer);
  void tell(const report::TrainedStep& step, bool is_best);
  /// A failed write does not end the training, which does not depend on readers of the events.
  void print_event(const nlohmann::json& event);
  [[nodiscard]] Status ask_for(const nlohmann::json& request, std::string_view kind);
  [[nodiscard]] Status save();
  [[nodiscard]] Result<double> validate();
  /// Keeps the weights if the step is the best so far; returns whether it is.
  [[nodiscard]] Result<bool> keep_if_best(double ndcg);
  [[nodiscard]] Status finish();
  [[nodiscard]] TrainedAttention attention() const;
  /// Writes the files that accompany the weights; removes those of another training.
  [[nodiscard]] Status write_folder();
  /// Compares scores of some pairs by the written folder with those of the trained weights.
  [[nodiscard]] Status check_folder();
  [[nodiscard]] Result<ScoringModel> open_folder() const;
  [[nodiscard]] Result<std::vector<float>> scores_of(const std::vector<TokenPair>& pairs);
  void say_kept();

  const TrainArguments& arguments_;
  ReadyToTrain& ready_;
  WorkerProcess& worker_;
  TrainingData data_;
  report::TrainingCurveFile curve_;
  std::int64_t done_;
  std::int64_t first_ = done_;
  std::optional<KeptStep> kept_;
  CountLine progress_;
  // Sums since the last printed line.
  double losses_ = 0, tokens_ = 0, seconds_ = 0;
  std::int64_t counted_ = 0;
  std::string lost_events_;
};

}  // namespace attnscope::cli
