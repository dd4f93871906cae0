// SPDX-License-Identifier: Apache-2.0
#include "app/worker/training_requests.h"

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/checkpoint.h"
#include "engine/measure/machine.h"
#include "engine/model/model_weights.h"
#include "engine/train/trainer.h"

namespace attnscope::worker {
namespace {

using nlohmann::json;

TrainingOptions options_of(const JsonField& message) {
  constexpr std::string_view schedules[] = {"constant", "linear"};
  TrainingOptions options{
      .objective = taken(parse_objective(message["objective"].text())),
      .learning_rate = message["learning_rate"].number(),
      .warm_up = message["warm_up"].whole(0),
      .steps = message["steps"].whole(1),
      .schedule = static_cast<Schedule>(message["schedule"].one_of(schedules, "schedule")),
      .adamw = {.weight_decay = message["weight_decay"].number(),
                .most_norm = message["clip"].number()},
      .kept = message["recompute"].truth() ? KeptLayers::inputs_alone : KeptLayers::whole,
      .document_type = document_type_of(message)};
  return options;
}

TrainedModel& in_training(const LoadedModel& model) {
  if (!model.trained) throw RequestError("no training is active; send 'begin-training' first");
  return *model.trained;
}

/// With the named implementation, or the first that supports the variant.
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

std::vector<TrainingGroup> batch_of(const JsonField& list, const LoadedModel& model) {
  std::vector<TrainingGroup> batch;
  for (const JsonField& field : list.elements()) {
    TrainingGroup& group = batch.emplace_back();
    group.query = token_ids(field["query"], model);
    for (const JsonField& document : field["documents"].elements())
      group.documents.push_back(token_ids(document, model));
    if (const auto margin = field.member("margin")) group.margin = margin->number();
  }
  return batch;
}

}  // namespace

void answer_begin_training(const ReceivedRequest& requested, ProtocolChannel& channel,
                           LoadedModel& model) {
  const JsonField& message = requested.message;
  model = {};
  const ModelVariant variant = variant_of(message);
  measure::set_threads(variant.threads);
  const Checkpoint checkpoint = checkpoint_of(message);
  const auto weights = with_head(weights_of(message, checkpoint),
                                 static_cast<std::uint64_t>(message["seed"].whole(0)));
  std::string implementation = message["implementation"].text();
  auto trainer = taken(make_trainer(weights, variant, options_of(message), implementation));
  if (!message["resume"].is_null()) taken(trainer->resume(message["resume"].text()));
  model.request = message.value();
  model.shape = weights->shape();
  model.gives_scores = true;
  model.document_type = document_type_of(message);
  model.implementation = implementation;
  model.trained = std::make_shared<TrainedModel>(TrainedModel{variant, std::move(trainer)});
  channel.send({{"event", "training-begun"},
                {"implementation", model.implementation},
                {"step", model.trained->trainer->steps_done()}});
}

void answer_train_step(const ReceivedRequest& requested, ProtocolChannel& channel,
                       LoadedModel& model) {
  const JsonField& message = requested.message;
  Trainer& trainer = *in_training(model).trainer;
  std::vector<std::vector<TrainingGroup>> batches;
  for (const JsonField& batch : message["batches"].elements())
    batches.push_back(batch_of(batch, model));
  const auto begin = std::chrono::steady_clock::now();
  const StepReport report = taken(trainer.step(batches, token_id(message["cls"], model)));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  channel.send({{"event", "train-step"},
                {"step", report.step},
                {"loss", report.loss},
                {"gradient_norm", report.gradient_norm},
                {"learning_rate", report.learning_rate},
                {"tokens", report.tokens},
                {"seconds", took.count()}});
}

void answer_keep_weights(const ReceivedRequest&, ProtocolChannel& channel, LoadedModel& model) {
  in_training(model).trainer->keep();
  channel.send({{"event", "weights-kept"}});
}

void answer_save_training(const ReceivedRequest& requested, ProtocolChannel& channel,
                          LoadedModel& model) {
  std::map<std::string, std::string> texts;
  for (const JsonField& text : requested.message["metadata"].members())
    texts.emplace(text.key(), text.text());
  taken(in_training(model).trainer->save(requested.message["path"].text(), texts));
  channel.send({{"event", "training-saved"}});
}

void answer_write_trained(const ReceivedRequest& requested, ProtocolChannel& channel,
                          LoadedModel& model) {
  taken(in_training(model).trainer->write_model(requested.message["path"].text()));
  channel.send({{"event", "trained-written"}});
}

void answer_model_so_far(const ReceivedRequest& requested, ProtocolChannel& channel,
                         LoadedModel& model) {
  const TrainedModel& trained = in_training(model);
  const auto weights = trained.trainer->weights(requested.message.truth_or("kept", false));
  const Family& family = family_of(*weights->config().family);
  model.model = taken(family.make(weights, trained.variant, model.implementation));
  channel.send({{"event", "model"}, {"implementation", model.implementation}});
}

}  // namespace attnscope::worker
