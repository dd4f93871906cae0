// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/worker/requests.h"
#include "base/sentences.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/measure/machine.h"
#include "engine/model/model_weights.h"
#include "engine/train/trainer.h"

namespace attnscope::worker {
namespace {

TrainingOptions options_of(const protocol::BeginTrainingRequest& request) {
  if (request.schedule != "constant" && request.schedule != "linear") {
    throw RequestError(
        fmt::format("'schedule' is constant or linear, not '{}'", in_a_sentence(request.schedule)));
  }
  return {.objective = taken(parse_objective(request.objective)),
          .learning_rate = request.learning_rate,
          .warm_up = request.warm_up,
          .steps = request.steps,
          .schedule = request.schedule == "linear" ? Schedule::linear : Schedule::constant,
          .adamw = {.weight_decay = request.weight_decay, .most_norm = request.clip},
          .kept = request.recompute ? KeptLayers::inputs_alone : KeptLayers::whole,
          .document_type = request.model.document_type};
}

TrainedModel& in_training(const LoadedModel& model) {
  if (!model.trained) throw RequestError("no training is active; send 'begin-training' first");
  return *model.trained;
}

/// A trainer with the implementation `named`; if that is empty, with the first that supports the
/// variant, and `named` is set to it.
Result<std::unique_ptr<Trainer>> make_trainer(const std::shared_ptr<const ModelWeights>& weights,
                                              const ModelVariant& variant,
                                              const TrainingOptions& options, std::string& named) {
  if (!named.empty()) return Trainer::make(weights, variant, named, options);
  std::optional<Error> first_reason;
  for (const std::string_view id : trained_implementations()) {
    auto trainer = Trainer::make(weights, variant, id, options);
    if (trainer) {
      named = id;
      return trainer;
    }
    if (!first_reason) first_reason = trainer.error();
  }
  return tl::unexpected(*first_reason);
}

std::vector<TrainingGroup> batch_of(const std::vector<protocol::TrainGroup>& groups,
                                    const LoadedModel& model) {
  std::vector<TrainingGroup> batch;
  for (const protocol::TrainGroup& group : groups) {
    check_ids(group.query, model, "query");
    for (const protocol::TokenIds& document : group.documents)
      check_ids(document, model, "documents");
    TrainingGroup& trained = batch.emplace_back();
    trained.query = group.query;
    trained.documents = group.documents;
    if (group.margin) trained.margin = *group.margin;
  }
  return batch;
}

}  // namespace

void answer(const protocol::BeginTrainingRequest& request, const Call& call) {
  LoadedModel& model = call.model;
  model = {};
  const ModelVariant variant = variant_of(request.model);
  measure::set_threads(variant.threads);
  const Checkpoint checkpoint = checkpoint_of(request.model);
  const auto weights =
      with_head(weights_of(request.model, checkpoint), static_cast<std::uint64_t>(request.seed));
  std::string implementation = request.model.implementation;
  auto trainer = taken(make_trainer(weights, variant, options_of(request), implementation));
  if (request.resume) taken(trainer->resume(*request.resume));
  model.shape = weights->shape();
  model.gives_scores = true;
  model.document_type = request.model.document_type;
  model.implementation = implementation;
  model.trained = std::make_shared<TrainedModel>(TrainedModel{variant, std::move(trainer)});
  call.send(protocol::TrainingBegun{.implementation = model.implementation,
                                    .step = model.trained->trainer->steps_done()});
}

void answer(const protocol::TrainStepRequest& request, const Call& call) {
  Trainer& trainer = *in_training(call.model).trainer;
  check_ids({&request.cls, 1}, call.model, "cls");
  std::vector<std::vector<TrainingGroup>> batches;
  for (const auto& groups : request.batches) batches.push_back(batch_of(groups, call.model));
  const auto begin = std::chrono::steady_clock::now();
  const StepReport report = taken(trainer.step(batches, request.cls));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  call.send(protocol::StepTrained{.step = report.step,
                                  .loss = report.loss,
                                  .gradient_norm = report.gradient_norm,
                                  .learning_rate = report.learning_rate,
                                  .tokens = report.tokens,
                                  .seconds = took.count()});
}

void answer(const protocol::KeepWeightsRequest& /*request*/, const Call& call) {
  in_training(call.model).trainer->keep();
  call.send(protocol::WeightsKept());
}

void answer(const protocol::SaveTrainingRequest& request, const Call& call) {
  taken(in_training(call.model).trainer->save(request.path, request.metadata));
  call.send(protocol::TrainingSaved());
}

void answer(const protocol::WriteTrainedRequest& request, const Call& call) {
  taken(in_training(call.model).trainer->write_model(request.path));
  call.send(protocol::TrainedWritten());
}

void answer(const protocol::ModelSoFarRequest& request, const Call& call) {
  const TrainedModel& trained = in_training(call.model);
  const auto weights = trained.trainer->weights(request.kept);
  const Family& family = family_of(*weights->config().family);
  call.model.model = taken(family.make(weights, trained.variant, call.model.implementation));
  call.send(protocol::ModelLoaded{.implementation = call.model.implementation});
}

}  // namespace attnscope::worker
