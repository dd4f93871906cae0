#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The input of `train`, step by step: groups of token ids from a file of triples, in an order drawn
// from a seed. The options of a training and the folder that it writes into: which files in it are
// its own, and the state in it from which the same training resumes.
//
//   TrainingData data(shape, model, std::move(*file), std::nullopt);
//   Result<protocol::TrainStepRequest> request = data.request_of(1);

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/ranking/scoring_model.h"
#include "engine/text/pair_reader.h"
#include "engine/text/training_file.h"
#include "engine/worker/model_messages.h"

namespace attnscope {

/// Determines the lines of a step.
struct StepShape {
  std::int64_t batch = 16, accumulate = 1, seed = 1;
  bool with_margin = false;  // of a teacher
};

/// The input of `train`, step by step.
class TrainingData {
 public:
  /// `texts` resolves ids in the triples. `model` must outlive the object.
  TrainingData(const StepShape& shape, const ScoringModel& model, TrainingFile file,
               std::optional<RerankedTexts> texts)
      : shape_(shape), model_(model), file_(std::move(file)), texts_(std::move(texts)) {}

  /// The request for this step, counted from 1.
  [[nodiscard]] Result<protocol::TrainStepRequest> request_of(std::int64_t step);
  /// Queries and documents of the first lines, and of texts that are lengthened beyond any limit.
  [[nodiscard]] Result<std::vector<TextPair>> some_pairs();
  [[nodiscard]] std::int64_t lines() const { return file_.size(); }
  /// Number of passes over all lines in so many steps.
  [[nodiscard]] double epochs(std::int64_t steps) const {
    return static_cast<double>(steps * groups_of_step()) / static_cast<double>(file_.size());
  }
  [[nodiscard]] std::int64_t groups_of_step() const { return shape_.batch * shape_.accumulate; }

 private:
  [[nodiscard]] Result<protocol::TrainGroup> group_at(std::int64_t at);
  /// Replaces ids with texts.
  [[nodiscard]] Status look_up(TrainingLine& line);

  StepShape shape_;
  const ScoringModel& model_;
  TrainingFile file_;
  std::optional<RerankedTexts> texts_;
  std::int64_t epoch_ = -1;
  std::vector<std::uint32_t> order_;  // of the current epoch
};

inline constexpr const char* trained_model_file = "model.safetensors";
inline constexpr const char* validation_file = "validation.trec";
inline constexpr const char* training_state_file = "training-state.safetensors";

struct TrainRunOptions {
  ModelQuestion question;
  std::string triples, queries, documents, out;
  bool margin_mse = false, ranknet = false, localized_ce = false;
  std::string schedule = "constant";
  StepShape shape;
  std::int64_t steps = 0, warm_up = -1, save_every = 500;
  double learning_rate = 7e-6, weight_decay = 0.01, clip = 1;
  bool recompute = false, restart = false;
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

/// The step whose weights are the best so far.
struct KeptStep {
  std::int64_t step = 0;
  double ndcg = 0;
};
/// Converts the kept step to and from the JSON of a state; null if none is kept.
[[nodiscard]] nlohmann::json to_json(const std::optional<KeptStep>& kept);
[[nodiscard]] std::optional<KeptStep> kept_step(const nlohmann::json& kept);

/// Settings that affect the trained weights: a state with other settings belongs to another
/// training. `triples` is the number of lines. Errors: a file that cannot be read, and an
/// interrupt.
[[nodiscard]] Result<nlohmann::json> training_settings(const TrainRunOptions& options,
                                                       const ScoringModel& model,
                                                       std::int64_t triples,
                                                       const std::atomic<int>& interrupted);
/// Ok, or the files whose contents differ, or the first other setting that does; one that only the
/// other training has counts as null.
[[nodiscard]] Status same_settings(const nlohmann::json& now, const nlohmann::json& then,
                                   const std::filesystem::path& state);

/// A lock on a folder, released with the last copy.
using FolderClaim = std::shared_ptr<const Descriptor>;

/// A claimed folder, and the state to resume from in it, if there is one.
struct FoundState {
  FolderClaim claim;
  bool is_there = false;
  std::optional<KeptStep> kept;
  nlohmann::json settings;
  std::vector<std::string> replaced{};  // files of an earlier training, which a restart removes
};
/// Checks that a training with these settings may write into its folder, which is created.
[[nodiscard]] Result<FoundState> claim_folder(const TrainRunOptions& options,
                                              const nlohmann::json& settings);
/// Removes the replaced files, and lists all files that the training may write as its own.
[[nodiscard]] Status prepare_folder(const TrainRunOptions& options, const FoundState& found);

}  // namespace attnscope
