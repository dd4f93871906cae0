// SPDX-License-Identifier: Apache-2.0
#include "app/worker/model_requests.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/measure/machine.h"
#include "engine/model/model_weights.h"
#include "engine/model/part_times.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope::worker {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

/// The named implementation, or the family's most preferred one that supports the variant.
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

/// The ids of a request's pairs, and the batch that refers to them.
struct Pairs {
  std::vector<Ids> queries, documents;
  PairBatch batch;
};

const DocumentCache& opened(const LoadedModel& model) {
  if (!model.cache) throw RequestError("no cache is open; send 'open-cache' first");
  return *model.cache;
}

/// Pairs every document of the list with one query.
void take_cached(const JsonField& message, const LoadedModel& model, Pairs& pairs) {
  pairs.queries.push_back(token_ids(message["query"], model));
  pairs.batch.documents = &opened(model);
  pairs.batch.one_query = true;
  for (const JsonField& number : message["cached"].elements()) {
    pairs.batch.items.push_back(
        {.query = pairs.queries.front(), .document = {}, .cached = number.whole()});
  }
}

void take_items(const JsonField& message, const LoadedModel& model, Pairs& pairs) {
  std::vector<std::int64_t> cached;
  for (const JsonField& item : message["items"].elements()) {
    pairs.queries.push_back(token_ids(item["query"], model));
    if (const auto number = item.member("cached")) {
      cached.push_back(number->whole());
    } else {
      pairs.documents.push_back(token_ids(item["document"], model));
    }
  }
  if (!cached.empty()) {
    if (!pairs.documents.empty()) {
      throw RequestError(
          "some pairs of the batch have a document's text, and some a document of the cache");
    }
    pairs.batch.documents = &opened(model);
  }
  for (std::size_t i = 0; i < pairs.queries.size(); ++i) {
    PairBatch::Item item{.query = pairs.queries[i], .document = {}};
    if (cached.empty()) {
      item.document = pairs.documents[i];
    } else {
      item.cached = cached[i];
    }
    pairs.batch.items.push_back(item);
  }
  pairs.batch.one_query = message.truth_or("one_query", false);
  const bool alike = std::ranges::all_of(
      pairs.queries, [&](const Ids& query) { return query == pairs.queries.front(); });
  if (pairs.batch.one_query && !alike) {
    throw RequestError("the pairs of a batch with 'one_query' have different queries");
  }
}

Pairs pairs_of(const JsonField& message, const LoadedModel& model) {
  Pairs pairs;
  if (message.member("cached")) {
    take_cached(message, model, pairs);
  } else {
    take_items(message, model, pairs);
  }
  pairs.batch.cls = token_id(message["cls"], model);
  pairs.batch.document_type = model.document_type;
  return pairs;
}

/// A cache may have many candidates, and a family's memory per candidate varies: a batch that needs
/// too much memory is split in halves.
std::vector<float> scores_within_memory(Model& scorer, const PairBatch& batch) {
  constexpr std::int64_t most_bytes = 1 << 30;
  if (batch.documents == nullptr || batch.items.size() == 1 ||
      taken(scorer.predicted_peak_bytes(batch)) <= most_bytes) {
    return taken(scorer.score(batch)).scores;
  }
  PairBatch half = batch;
  const auto middle = batch.items.begin() + static_cast<std::ptrdiff_t>(batch.items.size() / 2);
  half.items.assign(batch.items.begin(), middle);
  std::vector<float> scores = scores_within_memory(scorer, half);
  half.items.assign(middle, batch.items.end());
  const std::vector<float> rest = scores_within_memory(scorer, half);
  scores.insert(scores.end(), rest.begin(), rest.end());
  return scores;
}

/// Time and work of a call by part of the model, in order.
json parts_json(const PartTimes& times, const ModelWork& work) {
  json parts = json::array();
  for (const ModelPart part : model_parts) {
    json one = {{"name", name_of(part)}, {"seconds", times.seconds(part)}};
    if (const double flop = useful_flop(work, part); flop > 0) one["flop"] = flop;
    parts.push_back(std::move(one));
  }
  return parts;
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

ModelVariant variant_of(const JsonField& message) {
  ModelVariant variant{.pattern = taken(parse_pattern(message["pattern_json"].text(), "pattern")),
                       .window = {},
                       .local = {},
                       .layer_windows = {},
                       .options = {},
                       .dtype = taken(parse_dtype(message["dtype"].text())),
                       .device = device_of(message),
                       .threads = threads_of(message)};
  if (!message["window"].is_null()) {
    variant.window = taken(parse_window(message["window"].text()));
  }
  if (const auto local = message.member("local"); local && !local->is_null()) {
    variant.local = {taken(parse_pattern((*local)["pattern_json"].text(), "pattern")), {}};
    if (const JsonField window = (*local)["window"]; !window.is_null())
      variant.local->window = taken(parse_window(window.text()));
  }
  if (const auto windows = message.member("layer_windows")) {
    for (const JsonField& window : windows->elements())
      variant.layer_windows.push_back(taken(parse_window(window.text())));
  }
  for (const JsonField& option : message["options"].elements()) {
    variant.options.insert(option.text());
  }
  if (const auto precision = message.member("precision")) {
    variant.products = taken(parse_precision(precision->text()));
    if (Status able = supports_precision(variant.products, variant.dtype, variant.device); !able)
      throw RequestError(able.error().message);
  }
  return variant;
}

Model& loaded(const LoadedModel& model) {
  if (!model.model) throw RequestError("no model is loaded; send 'model' first");
  return *model.model;
}

std::int32_t token_id(const JsonField& field, const LoadedModel& model) {
  return field.whole<std::int32_t>(0, model.shape.vocabulary - 1);
}

std::vector<std::int32_t> token_ids(const JsonField& field, const LoadedModel& model) {
  std::vector<std::int32_t> ids;
  for (const JsonField& id : field.elements()) ids.push_back(token_id(id, model));
  return ids;
}

Checkpoint checkpoint_of(const JsonField& message) {
  Checkpoint checkpoint = taken(Checkpoint::open(message["checkpoint"].text()));
  HeadConfig& head = checkpoint.config.head;
  if (const std::string label = message.text_or("label", ""); !label.empty())
    head.label = taken(parse_label(label, head.labels));
  if (const auto skipped = message.member("skipped_tokens"))
    head.skipped_tokens = skipped->whole(0);
  if (const auto ids = message.member("max_sim"); ids && !ids->is_null()) {
    if (!head.max_sim) throw RequestError("'max_sim' is only for models with a vector per token");
    head.max_sim->separator = (*ids)["separator"].whole<std::int32_t>(0);
    for (const JsonField& id : (*ids)["skipped"].elements())
      head.max_sim->skipped.push_back(id.whole<std::int32_t>(0));
    std::ranges::sort(head.max_sim->skipped);
  }
  return checkpoint;
}

std::int32_t document_type_of(const JsonField& message) {
  const auto type = message.member("document_type");
  return type ? type->whole<std::int32_t>(0, 1) : 1;
}

std::shared_ptr<const ModelWeights> weights_of(const JsonField& message,
                                               const Checkpoint& checkpoint) {
  auto weights = taken(ModelWeights::of(checkpoint));
  const std::int64_t positions = message["positions"].whole();
  if (positions <= weights->shape().positions) return weights;
  return taken(family_of(*checkpoint.config.family).extended_to(weights, positions));
}

void answer_model(const ReceivedRequest& requested, ProtocolChannel& channel, LoadedModel& model) {
  const JsonField& message = requested.message;
  if (!model.model || model.request != message.value()) {
    model = {};
    const ModelVariant variant = variant_of(message);
    measure::set_threads(variant.threads);
    const Checkpoint checkpoint = checkpoint_of(message);
    const Family& family = family_of(*checkpoint.config.family);
    const auto weights = weights_of(message, checkpoint);
    const std::string named = message["implementation"].text();
    const std::string implementation = choose(family, weights->config(), variant, named);
    model = {.request = message.value(),
             .shape = weights->shape(),
             .gives_scores = checkpoint.gives_scores,
             .implementation = implementation,
             .document_type = document_type_of(message),
             .model = taken(family.make(weights, variant, implementation))};
  }
  channel.send({{"event", "model"}, {"implementation", model.implementation}});
}

void answer_score(const ReceivedRequest& requested, ProtocolChannel& channel, LoadedModel& model) {
  Model& scorer = loaded(model);
  if (!model.gives_scores) {
    throw RequestError("the model was loaded without a head, so it gives no scores");
  }
  Pairs pairs = pairs_of(requested.message, model);
  pairs.batch.with_states = false;
  const bool by_parts = requested.message.truth_or("parts", false);
  ModelWork work;
  if (by_parts) work = taken(scorer.work(pairs.batch));  // planning is not part of the call's time
  std::optional<PartTimes> parts;
  if (by_parts) parts.emplace();
  const std::vector<float> scores = scores_within_memory(scorer, pairs.batch);
  json written = json::array();
  for (const float score : scores)
    written.push_back(std::isfinite(score) ? json(score) : json("nan"));
  json event = {{"event", "score"}, {"scores", std::move(written)}};
  if (by_parts) event["parts"] = parts_json(*parts, work);
  channel.send(event);
}

void answer_inspect(const ReceivedRequest& requested, ProtocolChannel& channel,
                    LoadedModel& model) {
  const JsonField& message = requested.message;
  Model& scorer = loaded(model);
  const Pairs pairs = pairs_of(message, model);
  if (pairs.batch.items.size() != 1) throw RequestError("'inspect' needs exactly one pair");
  const std::set<std::int64_t> wanted = layers_of(message, model.shape.layers);
  std::vector<Shown> shown;
  std::set<std::int64_t> there_are;
  const ModelOutput output = taken(scorer.score(pairs.batch, [&](Shown tensor) {
    there_are.insert(tensor.layer);
    if (wanted.contains(tensor.layer)) shown.push_back(std::move(tensor));
  }));
  if (!wanted.empty() && shown.empty()) {
    throw RequestError(
        there_are.empty()
            ? "this model encodes query and document separately, so the pair has no attention to "
              "show"
            : fmt::format(
                  "query and document do not attend to each other in layer {}; they do in {}",
                  fmt::join(wanted, ", "), fmt::join(there_are, ", ")));
  }
  for (const Shown& tensor : shown) {
    if (std::ranges::all_of(tensor.values, [](float value) { return std::isfinite(value); }))
      continue;
    throw RequestError(
        fmt::format("'{}' of layer {} has values that are infinite or NaN and cannot be shown; are "
                    "the checkpoint's weights damaged?",
                    tensor.name, tensor.layer));
  }
  std::vector<NamedTensor> tensors;
  tensors.reserve(shown.size());
  for (const Shown& tensor : shown) {
    tensors.push_back(
        {fmt::format("layer.{}.{}", tensor.layer, tensor.name), tensor.shape, tensor.values});
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
