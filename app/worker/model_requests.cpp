// SPDX-License-Identifier: Apache-2.0
#include "app/worker/model_requests.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/checkpoint/checkpoint.h"
#include "engine/measure/machine.h"
#include "engine/model/model_weights.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope::worker {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

ModelVariant variant_of(const JsonField& message) {
  ModelVariant variant{.pattern = taken(parse_pattern(message["pattern_json"].text(), "pattern")),
                       .window = {},
                       .options = {},
                       .dtype = taken(parse_dtype(message["dtype"].text())),
                       .device = device_of(message),
                       .threads = threads_of(message)};
  if (!message["window"].is_null()) {
    variant.window = taken(parse_window(message["window"].text()));
  }
  for (const JsonField& option : message["options"].elements()) {
    variant.options.insert(option.text());
  }
  return variant;
}

/// The implementation that is named, or the first of the family's choice that takes the variant.
std::string choose(const Family& family, const ModelConfig& config, const ModelVariant& variant,
                   const std::string& named) {
  std::vector<std::string_view> choices{named};
  if (named.empty()) choices = family.implementations();
  std::string first_reason;
  for (const std::string_view id : choices) {
    const Status takes = family.supports(config, variant, id);
    if (takes) return std::string(id);
    if (first_reason.empty()) first_reason = takes.error().message;
  }
  throw RequestError(first_reason);
}

std::int32_t id_of(const JsonField& field, std::int64_t vocabulary) {
  return field.whole<std::int32_t>(0, vocabulary - 1);
}

Ids ids_of(const JsonField& field, std::int64_t vocabulary) {
  Ids ids;
  for (const JsonField& id : field.elements()) ids.push_back(id_of(id, vocabulary));
  return ids;
}

/// The ids of a request's pairs, and the batch that looks at them.
struct Pairs {
  std::vector<Ids> queries, documents;
  PairBatch batch;
};

Pairs pairs_of(const JsonField& message, const LoadedModel& model) {
  Pairs pairs;
  for (const JsonField& item : message["items"].elements()) {
    pairs.queries.push_back(ids_of(item["query"], model.shape.vocabulary));
    pairs.documents.push_back(ids_of(item["document"], model.shape.vocabulary));
  }
  for (std::size_t i = 0; i < pairs.queries.size(); ++i) {
    pairs.batch.items.push_back({.query = pairs.queries[i], .document = pairs.documents[i]});
  }
  pairs.batch.cls = id_of(message["cls"], model.shape.vocabulary);
  pairs.batch.one_query = message.truth_or("one_query", false);
  const bool alike = std::ranges::all_of(
      pairs.queries, [&](const Ids& query) { return query == pairs.queries.front(); });
  if (pairs.batch.one_query && !alike) {
    throw RequestError("the pairs of a batch with 'one_query' have different queries");
  }
  return pairs;
}

Model& loaded(const LoadedModel& model) {
  if (!model.model) throw RequestError("no model is loaded; 'model' goes first");
  return *model.model;
}

std::set<std::int64_t> layers_of(const JsonField& message, std::int64_t count) {
  std::set<std::int64_t> layers;
  const JsonField wanted = message["layers"];
  if (wanted.is_null()) {
    for (std::int64_t layer = 0; layer < count; ++layer) layers.insert(layer);
    return layers;
  }
  for (const JsonField& layer : wanted.elements()) {
    const auto number = layer.whole();
    if (number < 0 || number >= count) {
      throw RequestError(fmt::format("layers are counted from 0 to {}", count - 1));
    }
    layers.insert(number);
  }
  return layers;
}

}  // namespace

void answer_model(const Asked& asked, ProtocolChannel& channel, LoadedModel& model) {
  const JsonField& message = asked.message;
  if (!model.model || model.request != message.value()) {
    model = {};
    const ModelVariant variant = variant_of(message);
    measure::set_threads(variant.threads);
    const Checkpoint checkpoint = taken(Checkpoint::open(message["checkpoint"].text()));
    const Family& family = family_of(*checkpoint.config.family);
    auto weights = ModelWeights::of(checkpoint);
    const std::int64_t positions = message["positions"].whole();
    if (positions > weights->shape().positions) {
      weights = taken(family.extended_to(weights, positions));
    }
    const std::string named = message["implementation"].text();
    const std::string implementation = choose(family, weights->config(), variant, named);
    model = {.request = message.value(),
             .shape = weights->shape(),
             .gives_scores = checkpoint.gives_scores,
             .implementation = implementation,
             .model = taken(family.make(weights, variant, implementation))};
  }
  channel.send({{"event", "model"}, {"implementation", model.implementation}});
}

void answer_score(const Asked& asked, ProtocolChannel& channel, LoadedModel& model) {
  Model& scorer = loaded(model);
  if (!model.gives_scores) {
    throw RequestError("the model was loaded without a head, so it gives no scores");
  }
  const Pairs pairs = pairs_of(asked.message, model);
  const ModelOutput output = taken(scorer.score(pairs.batch));
  for (std::size_t i = 0; i < output.scores.size(); ++i) {
    if (std::isfinite(output.scores[i])) continue;
    throw RequestError(fmt::format(
        "the score of pair {} of the batch is no number; are the checkpoint's weights damaged?",
        i + 1));
  }
  channel.send({{"event", "score"}, {"scores", output.scores}});
}

void answer_inspect(const Asked& asked, ProtocolChannel& channel, LoadedModel& model) {
  const JsonField& message = asked.message;
  Model& scorer = loaded(model);
  const Pairs pairs = pairs_of(message, model);
  if (pairs.batch.items.size() != 1) throw RequestError("'inspect' looks at one pair");
  const std::set<std::int64_t> wanted = layers_of(message, model.shape.layers);
  std::vector<Shown> shown;
  std::set<std::int64_t> there_are;
  const ModelOutput output = taken(scorer.score(pairs.batch, [&](Shown one) {
    there_are.insert(one.layer);
    if (wanted.contains(one.layer)) shown.push_back(std::move(one));
  }));
  if (!wanted.empty() && shown.empty()) {
    throw RequestError(
        there_are.empty()
            ? "this model encodes query and document apart, so there is no attention of the pair "
              "to show"
            : fmt::format("query and document do not look at each other in layer {}; they do in {}",
                          fmt::join(wanted, ", "), fmt::join(there_are, ", ")));
  }
  std::vector<NamedTensor> tensors;
  tensors.reserve(shown.size());
  for (const Shown& one : shown) {
    tensors.push_back({fmt::format("layer.{}.{}", one.layer, one.name), one.shape, one.values});
  }
  SafetensorsOptions options{.metadata = {}, .half = message.truth_or("half", false)};
  for (const JsonField& text : message["metadata"].members()) {
    options.metadata.emplace(text.key(), text.text());
  }
  taken(write_safetensors(message["out"].text(), tensors, options));
  json event = {{"event", "inspect"}};
  const float score = output.scores.front();
  if (model.gives_scores && std::isfinite(score)) event["score"] = score;
  channel.send(event);
}

}  // namespace attnscope::worker
