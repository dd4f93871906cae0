#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A training's steps by a worker: what is told, saved, validated and kept of them, and the folder
// that is left when the last one is done.

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
#include "engine/checkpoint/trained_config.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/report/training_curve.h"
#include "engine/scoring/scoring_model.h"
#include "engine/sweep/worker_process.h"
#include "engine/text/training_file.h"
#include "kernels/base/result.h"

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
  std::string keep;  // "best" or "last"; empty: the best where it is known

  [[nodiscard]] std::string objective() const {
    if (margin_mse) return "margin-mse";
    return ranknet ? "ranknet" : "localized-ce";
  }
  /// A hundredth of the steps, as the paper's 1,000 of 100,000.
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

/// The run that is ranked anew now and then, and what it is held against.
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

/// A locked folder, until it goes.
using FolderClaim = std::shared_ptr<const int>;

/// Everything that is checked before a worker is started.
struct ReadyToTrain {
  ScoringModel model;
  TrainingFile file;
  std::optional<RerankedTexts> texts;
  std::optional<Validation> validation;
  nlohmann::json settings, settings_before;  // of the state, and of one that it goes on with
  FolderClaim claim;
  bool resumes = false;
  std::optional<KeptStep> kept;  // of the state that it goes on with
};

/// What a state says of the step that is kept, and that again; nothing: none is.
[[nodiscard]] nlohmann::json to_json(const std::optional<KeptStep>& kept);
[[nodiscard]] std::optional<KeptStep> kept_step(const nlohmann::json& json);

class TrainRun {
 public:
  /// The worker has begun, or gone on behind the step `done`. What it is given outlives it, and
  /// `ready` is used up.
  [[nodiscard]] static Result<TrainRun> make(const TrainArguments& arguments, ReadyToTrain& ready,
                                             WorkerProcess& worker, std::int64_t done);

  /// To the last step, after which the folder is whole, or until an interrupt, after which it is
  /// saved. What goes wrong leaves the state that was saved before.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t done() const { return done_; }
  /// Why standard output did not take one of the events; empty: it took all.
  [[nodiscard]] const std::string& lost_events() const { return lost_events_; }

 private:
  TrainRun(const TrainArguments& arguments, ReadyToTrain& ready, WorkerProcess& worker,
           report::TrainingCurveFile curve, std::int64_t done);
  void say_begin() const;
  [[nodiscard]] Status take_step(const nlohmann::json& answer);
  void tell(const report::TrainedStep& step, bool is_best);
  /// The training goes on where it is not taken: nothing of it depends on who reads the events.
  void print_event(const nlohmann::json& event);
  [[nodiscard]] Status ask_for(const nlohmann::json& request, std::string_view kind);
  [[nodiscard]] Status save();
  [[nodiscard]] Result<double> validate();
  /// Whether it is the best so far, which is then what is kept.
  [[nodiscard]] Result<bool> keep_if_best(double ndcg);
  [[nodiscard]] Status finish();
  [[nodiscard]] TrainedAttention attention() const;
  /// The files beside the weights; those of another training are removed.
  [[nodiscard]] Status write_folder();
  /// Scores of some pairs as the folder is read now, against those of the trained weights.
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
  // Since the last line that was said.
  double losses_ = 0, tokens_ = 0, seconds_ = 0;
  std::int64_t counted_ = 0;
  std::string lost_events_;
};

}  // namespace attnscope::cli
