// SPDX-License-Identifier: Apache-2.0
#include "app/worker/model_requests.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/worker/request_fields.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/measure/torch_runtime.h"
#include "engine/model/model_weights.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope::worker {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

template <typename T>
T taken(Result<T> result) {
  if (!result) throw RequestError(result.error().message);
  return std::move(*result);
}

ModelVariant variant_of(const json& message) {
  ModelVariant variant{
      .pattern = taken(parse_pattern(text_field(message, "pattern_json"), "pattern")),
      .window = {},
      .options = {},
      .dtype = taken(parse_dtype(text_field(message, "dtype"))),
      .device = device_field(message),
      .threads = threads_field(message)};
  if (!field(message, "window").is_null()) {
    variant.window = taken(parse_window(text_field(message, "window")));
  }
  const json& options = field(message, "options");
  for (const json& option : options) {
    if (!options.is_array() || !option.is_string()) {
      throw RequestError("the field 'options' must be a list of texts");
    }
    variant.options.insert(option.get<std::string>());
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

Ids ids_of(const json& value, std::int64_t vocabulary) {
  Ids ids;
  if (!value.is_array()) throw RequestError("token ids must be a list of whole numbers");
  ids.reserve(value.size());
  for (const json& id : value) {
    if (!id.is_number_integer() || id < 0 || id >= vocabulary) {
      throw RequestError(
          fmt::format("token ids must be whole numbers from 0 to {}", vocabulary - 1));
    }
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

/// The ids of a request's pairs, and the batch that looks at them.
struct Pairs {
  std::vector<Ids> queries, documents;
  PairBatch batch;
};

Pairs pairs_of(const json& message, const LoadedModel& model) {
  Pairs pairs;
  const json& items = field(message, "items");
  if (!items.is_array()) throw RequestError("the field 'items' must be a list of pairs");
  for (const json& item : items) {
    pairs.queries.push_back(ids_of(field(item, "query"), model.shape.vocabulary));
    pairs.documents.push_back(ids_of(field(item, "document"), model.shape.vocabulary));
  }
  for (std::size_t i = 0; i < pairs.queries.size(); ++i) {
    pairs.batch.items.push_back({.query = pairs.queries[i], .document = pairs.documents[i]});
  }
  pairs.batch.cls = ids_of(json::array({field(message, "cls")}), model.shape.vocabulary).front();
  pairs.batch.one_query = truth_field(message, "one_query");
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

std::set<std::int64_t> layers_of(const json& message, std::int64_t count) {
  std::set<std::int64_t> layers;
  const json& wanted = field(message, "layers");
  if (wanted.is_null()) {
    for (std::int64_t layer = 0; layer < count; ++layer) layers.insert(layer);
    return layers;
  }
  if (!wanted.is_array()) throw RequestError("the field 'layers' must be a list, or null for all");
  for (const json& layer : wanted) {
    if (!layer.is_number_integer() || layer < 0 || layer >= count) {
      throw RequestError(fmt::format("layers are counted from 0 to {}", count - 1));
    }
    layers.insert(layer.get<std::int64_t>());
  }
  return layers;
}

}  // namespace

void answer_model(const Request& request, ProtocolChannel& channel, LoadedModel& model) {
  const json& message = request.message;
  if (!model.model || model.request != message) {
    model = {};
    const ModelVariant variant = variant_of(message);
    measure::set_threads(variant.threads);
    const Checkpoint checkpoint = taken(Checkpoint::open(text_field(message, "checkpoint")));
    const Family& family = family_of(*checkpoint.config.family);
    auto weights = ModelWeights::of(checkpoint);
    const std::int64_t positions = whole_field(message, "positions");
    if (positions > weights->shape().positions) {
      weights = taken(family.extended_to(weights, positions));
    }
    const std::string named = text_field(message, "implementation");
    const std::string implementation = choose(family, weights->config(), variant, named);
    model = {.request = message,
             .shape = weights->shape(),
             .gives_scores = checkpoint.gives_scores,
             .implementation = implementation,
             .model = taken(family.make(weights, variant, implementation))};
  }
  channel.send({{"event", "model"}, {"implementation", model.implementation}});
}

void answer_score(const Request& request, ProtocolChannel& channel, LoadedModel& model) {
  Model& scorer = loaded(model);
  if (!model.gives_scores) {
    throw RequestError("the model was loaded without a head, so it gives no scores");
  }
  const Pairs pairs = pairs_of(request.message, model);
  const ModelOutput output = taken(scorer.score(pairs.batch));
  for (std::size_t i = 0; i < output.scores.size(); ++i) {
    if (std::isfinite(output.scores[i])) continue;
    throw RequestError(fmt::format(
        "the score of pair {} of the batch is no number; are the checkpoint's weights damaged?",
        i + 1));
  }
  channel.send({{"event", "score"}, {"scores", output.scores}});
}

void answer_inspect(const Request& request, ProtocolChannel& channel, LoadedModel& model) {
  const json& message = request.message;
  Model& scorer = loaded(model);
  const Pairs pairs = pairs_of(message, model);
  if (pairs.batch.items.size() != 1) throw RequestError("'inspect' looks at one pair");
  const std::set<std::int64_t> wanted = layers_of(message, model.shape.layers);
  std::vector<Shown> shown;
  const ModelOutput output = taken(scorer.score(pairs.batch, [&](Shown one) {
    if (wanted.contains(one.layer)) shown.push_back(std::move(one));
  }));
  std::vector<NamedTensor> tensors;
  for (const Shown& one : shown) {
    tensors.push_back({fmt::format("layer.{}.{}", one.layer, one.name), one.shape, one.values});
  }
  SafetensorsOptions options{.metadata = {}, .half = truth_field(message, "half")};
  for (const auto& [key, text] : field(message, "metadata").items()) {
    if (!text.is_string()) throw RequestError(fmt::format("the metadata '{}' must be a text", key));
    options.metadata.emplace(key, text.get<std::string>());
  }
  if (const Status written = write_safetensors(text_field(message, "out"), tensors, options);
      !written) {
    throw RequestError(written.error().message);
  }
  json event = {{"event", "inspect"}};
  const float score = output.scores.front();
  if (model.gives_scores && std::isfinite(score)) event["score"] = score;
  channel.send(event);
}

}  // namespace attnscope::worker
