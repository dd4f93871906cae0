#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The options of a training and the folder that it writes into: which files in it are its own, and
// the state in it from which the same training resumes.

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
#include "engine/ranking/scoring_model.h"
#include "engine/ranking/training_data.h"

namespace attnscope {

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
