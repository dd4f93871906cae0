#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The input of `train`, step by step: groups of token ids from a file of triples, in an order drawn
// from a seed.
//
//   TrainingData data(shape, model, std::move(*file), std::nullopt);
//   Result<protocol::TrainStepRequest> request = data.request_of(1);

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/ranking/reranked_pairs.h"
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

}  // namespace attnscope
