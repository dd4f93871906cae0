#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training, step by step: loss, gradients, update; and its state on disk, from which it goes on
// to the same weights. The same bits for the same weights, groups, options and threads. LibTorch
// inside.
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

#include "engine/train/adamw.h"
#include "engine/train/objective.h"
#include "engine/train/trained_cross_encoder.h"

namespace attnscope {

/// What a learning rate does behind its warm-up: stays, or falls in equal steps, to 0 behind the
/// last one.
enum class Schedule : std::uint8_t { constant, linear };

struct TrainingOptions {
  Objective objective = Objective::margin_mse;
  /// The paper's (Schlatt et al., ECIR 2024, Sec. 3.5), as the warm-up and AdamW's decay.
  double learning_rate = 7e-6;
  std::int64_t warm_up = 1000;  // steps that the rate rises in, in equal parts
  std::int64_t steps = 0;       // of the whole training; 0: of a schedule that needs none
  Schedule schedule = Schedule::constant;
  AdamWOptions adamw{};
  KeptLayers kept = KeptLayers::whole;
  std::int32_t document_type = 1;  // token type of documents
};

/// Of a step, counted from 1.
[[nodiscard]] double learning_rate_of(std::int64_t step, const TrainingOptions& options);

/// A query and its documents, the relevant one first.
struct TrainingGroup {
  std::vector<std::int32_t> query;  // with its [SEP], as each document
  std::vector<std::vector<std::int32_t>> documents;
  double margin = 0;  // a teacher's, of margin-mse
};

struct StepReport {
  std::int64_t step = 0;     // from 1
  double loss = 0;           // mean over the groups
  double gradient_norm = 0;  // before it was made shorter
  double learning_rate = 0;
  std::int64_t tokens = 0;  // without padding; there is none
};

class Trainer {
 public:
  /// Errors: those of TrainedCrossEncoder.
  [[nodiscard]] static Result<std::unique_ptr<Trainer>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation, const TrainingOptions& options);

  /// One update by the mean loss over the groups of all batches; a batch is computed at once, and
  /// gradients add up over batches. Errors: no group, one without another document than the
  /// relevant, a loss that is no number (weights are then as before), what pack_batch says.
  [[nodiscard]] Result<StepReport> step(std::span<const std::vector<TrainingGroup>> batches,
                                        std::int32_t cls);
  [[nodiscard]] std::int64_t steps_done() const { return optimizer_.steps(); }
  [[nodiscard]] const TrainedCrossEncoder& model() const { return *model_; }

  /// A copy, to be computed with.
  [[nodiscard]] std::shared_ptr<const ModelWeights> weights() const;
  /// The weights of now are those that write_model writes, until others are kept.
  void keep();
  /// A copy of those that write_model writes.
  [[nodiscard]] std::shared_ptr<const ModelWeights> weights_to_write() const;

  /// Weights, moments, the number of steps and the weights that are kept, whole or not at all.
  /// `texts` stand in the file's metadata.
  [[nodiscard]] Status save(const std::filesystem::path& file,
                            const std::map<std::string, std::string>& texts) const;
  /// Errors: a file of another model, or that is damaged.
  [[nodiscard]] Status resume(const std::filesystem::path& file);
  /// model.safetensors as Hugging Face's transformers name its tensors: of the weights that are
  /// kept, else of the last ones.
  [[nodiscard]] Status write_model(const std::filesystem::path& file) const;

 private:
  Trainer(std::unique_ptr<TrainedCrossEncoder> model, const TrainingOptions& options);
  [[nodiscard]] Result<double> add_gradients(const std::vector<TrainingGroup>& batch,
                                             std::size_t groups_of_step, std::int32_t cls,
                                             std::int64_t& tokens);
  void forget_gradients();

  TrainingOptions options_;
  std::unique_ptr<TrainedCrossEncoder> model_;
  AdamW optimizer_;
  std::vector<at::Tensor> kept_;  // one for each parameter; empty: none are kept
};

}  // namespace attnscope
