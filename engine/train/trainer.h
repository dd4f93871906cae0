#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Trains step by step: loss, gradients, update; and saves its state to disk, from which training
// resumes to the same weights. Results are bitwise equal for the same weights, groups, options and
// threads. Uses LibTorch.
//
//   auto trainer = Trainer::make(weights, variant, "segment", {.objective = Objective::ranknet});
//   Result<StepReport> report = (*trainer)->step({{group}}, cls);
//   Status saved = (*trainer)->save("state.safetensors", {{"settings", settings}});

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/train/trained_cross_encoder.h"

namespace attnscope {

/// Training objectives. A group consists of a query's documents, the relevant one first.
///
///   margin-mse      ((s+ - s-) - margin)^2, the margin a teacher's (Hofstaetter et al., 2020)
///   ranknet         log(1 + exp(s- - s+)) (Burges et al., 2005)
///   localized-ce    -log of the softmax over the group at the relevant one (Gao et al., 2021)
enum class Objective : std::uint8_t { margin_mse, ranknet, localized_ce };
[[nodiscard]] std::string_view name_of(Objective objective);
/// The error lists the known objectives.
[[nodiscard]] Result<Objective> parse_objective(std::string_view text);

struct ScoredGroup {
  std::int64_t documents = 2;  // above 1; 2 for margin-mse and ranknet
  double margin = 0;           // for margin-mse only
};

/// The loss summed over the groups, float32 with the autograd graph of `scores` [documents of all
/// groups, one group after the other].
[[nodiscard]] at::Tensor loss_of(Objective objective, const at::Tensor& scores,
                                 std::span<const ScoredGroup> groups);

struct AdamWOptions {
  double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8;
  /// Applies to weights with two dimensions, not to biases and norm weights.
  double weight_decay = 0.01;
  /// Maximum global gradient norm, for clipping; 0: no clipping.
  double most_norm = 1;
};

/// AdamW (Loshchilov and Hutter, 2019): float32 moments for every weight, decoupled weight decay.
///
///   AdamW optimizer(model->parameters(), {});
///   loss.backward();
///   Result<double> norm = optimizer.step(7e-6);   // changes the weights, clears the gradients
class AdamW {
 public:
  AdamW(const std::vector<Parameter>& parameters, const AdamWOptions& options);

  /// Performs one update and returns the gradient norm before clipping. An error for infinite or
  /// NaN gradients, which change nothing. Weights without a gradient stay unchanged.
  [[nodiscard]] Result<double> step(double learning_rate);

  /// Both moments of each parameter, in the order of the parameters.
  [[nodiscard]] const std::vector<at::Tensor>& first() const { return first_; }
  [[nodiscard]] const std::vector<at::Tensor>& second() const { return second_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// For moments that are restored from a state.
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  [[nodiscard]] double norm() const;

  AdamWOptions options_;
  std::vector<at::Tensor> weights_, first_, second_;
  std::int64_t steps_ = 0;
};

/// Learning rate after the warm-up: constant, or decreasing linearly to 0 after the last step.
enum class Schedule : std::uint8_t { constant, linear };

struct TrainingOptions {
  Objective objective = Objective::margin_mse;
  /// The paper's value (Schlatt et al., ECIR 2024, Sec. 3.5), as are the warm-up and AdamW's decay.
  double learning_rate = 7e-6;
  std::int64_t warm_up = 1000;  // steps of the linear increase of the learning rate
  std::int64_t steps = 0;       // of the whole training; 0: the schedule needs none
  Schedule schedule = Schedule::constant;
  AdamWOptions adamw{};
  KeptLayers kept = KeptLayers::whole;
  std::int32_t document_type = 1;  // token type of documents
};

/// Learning rate of a step, counted from 1.
[[nodiscard]] double learning_rate_of(std::int64_t step, const TrainingOptions& options);

/// A query and its documents, the relevant one first.
struct TrainingGroup {
  std::vector<std::int32_t> query;  // with its [SEP], as is each document
  std::vector<std::vector<std::int32_t>> documents;
  double margin = 0;  // a teacher's, for margin-mse
};

struct StepReport {
  std::int64_t step = 0;     // from 1
  double loss = 0;           // mean over the groups
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  std::int64_t tokens = 0;  // the input has no padding
};

class Trainer {
 public:
  /// Errors: those of TrainedCrossEncoder.
  [[nodiscard]] static Result<std::unique_ptr<Trainer>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation, const TrainingOptions& options);

  /// One update with the mean loss over the groups of all batches; each batch is one computation,
  /// and gradients are accumulated over batches. Errors: no group, a group with only the relevant
  /// document, a NaN loss (the weights are then unchanged), errors of pack_batch.
  [[nodiscard]] Result<StepReport> step(std::span<const std::vector<TrainingGroup>> batches,
                                        std::int32_t cls);
  [[nodiscard]] std::int64_t steps_done() const { return optimizer_.steps(); }
  [[nodiscard]] const TrainedCrossEncoder& model() const { return *model_; }

  /// A copy of the current weights, or with `kept`, of the weights that write_model writes.
  [[nodiscard]] std::shared_ptr<const ModelWeights> weights(bool kept = false) const;
  /// Keeps the current weights for write_model, until the next call.
  void keep();

  /// Saves weights, moments, the number of steps and the kept weights, atomically. `texts` are
  /// stored in the file's metadata.
  [[nodiscard]] Status save(const std::filesystem::path& file,
                            const std::map<std::string, std::string>& texts) const;
  /// Errors: a file of another model, or a damaged file.
  [[nodiscard]] Status resume(const std::filesystem::path& file);
  /// Writes model.safetensors with the tensor names of Hugging Face's transformers: the kept
  /// weights, else the current ones.
  [[nodiscard]] Status write_model(const std::filesystem::path& file) const;

 private:
  Trainer(std::unique_ptr<TrainedCrossEncoder> model, const TrainingOptions& options);
  [[nodiscard]] Result<double> add_gradients(const std::vector<TrainingGroup>& batch,
                                             std::size_t groups_of_step, std::int32_t cls,
                                             std::int64_t& tokens);
  void clear_gradients();

  TrainingOptions options_;
  std::unique_ptr<TrainedCrossEncoder> model_;
  AdamW optimizer_;
  std::vector<at::Tensor> kept_;  // one for each parameter; empty: none are kept
};

}  // namespace attnscope
