// SPDX-License-Identifier: Apache-2.0
#include "app/worker/model_requests.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "app/worker/request_fields.h"
#include "engine/attention/list.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/measure/torch_runtime.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/base/sentences.h"

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
      .global_projections = truth_field(message, "global_projections"),
      .cls_only_last_layer = truth_field(message, "cls_only_last_layer"),
      .dtype = taken(parse_dtype(text_field(message, "dtype"))),
      .device = device_field(message),
      .threads = threads_field(message)};
  if (!field(message, "window").is_null()) {
    variant.window = taken(parse_window(text_field(message, "window")));
  }
  return variant;
}

/// Whether it takes pairs at all, asked of a small one.
Status takes_pairs(const CrossEncoder& encoder) {
  static constexpr std::array<std::int32_t, 4> ids{};
  PairBatch batch;
  batch.items.push_back({.query = std::span(ids).first(2), .document = ids});
  return encoder.supports(batch);
}

const Implementation& implementation_of(std::string_view id) {
  if (const Implementation* found = find_implementation(id)) return *found;
  std::vector<std::string_view> known;
  for (const Implementation* one : implementations()) known.push_back(one->id());
  throw RequestError(fmt::format("there is no implementation '{}'; {}", id, suggest(id, known)));
}

struct Chosen {
  std::unique_ptr<CrossEncoder> encoder;
  std::string_view implementation;
};

/// The one that is named, or the first of these that takes the pattern.
Chosen choose(const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
              const std::string& named) {
  constexpr std::array<std::string_view, 5> in_order{"segment", "sdpa", "windowed", "sdpa-mask",
                                                     "dense"};
  std::string first_reason;
  for (const std::string_view id : in_order) {
    const Implementation& implementation = implementation_of(named.empty() ? id : named);
    auto encoder = CrossEncoder::make(weights, variant, implementation);
    const Status takes = encoder ? takes_pairs(**encoder) : Status(tl::unexpected(encoder.error()));
    if (takes) return {std::move(*encoder), implementation.id()};
    if (first_reason.empty()) first_reason = takes.error().message;
    if (!named.empty()) break;
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

CrossEncoder& loaded(const LoadedModel& model) {
  if (!model.encoder) throw RequestError("no model is loaded; 'model' goes first");
  return *model.encoder;
}

/// What layers were given, as the tensors of a dump.
class Captured {
 public:
  explicit Captured(const ModelShape& shape) : shape_(shape) {}

  void take(const CapturedLayer& layer) {
    struct Part {
      const char* name;
      const std::vector<float>& values;
    };
    for (const Part& part : {Part{"q", layer.q}, Part{"k", layer.k}, Part{"v", layer.v},
                             Part{"q_global", layer.q_global}, Part{"k_global", layer.k_global},
                             Part{"v_global", layer.v_global}}) {
      if (part.values.empty()) continue;
      names_.push_back(fmt::format("layer.{}.{}", layer.layer, part.name));
      values_.push_back(part.values);
    }
  }
  [[nodiscard]] std::vector<NamedTensor> tensors() const {
    std::vector<NamedTensor> all;
    all.reserve(names_.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto tokens = static_cast<std::int64_t>(values_[i].size()) / shape_.hidden;
      all.push_back({names_[i], {tokens, shape_.heads, shape_.head_dim()}, values_[i]});
    }
    return all;
  }

 private:
  const ModelShape& shape_;
  std::vector<std::string> names_;
  std::vector<std::vector<float>> values_;
};

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
  if (!model.encoder || model.request != message) {
    model = {};
    const ModelVariant variant = variant_of(message);
    measure::set_threads(variant.threads);
    const Checkpoint checkpoint = taken(Checkpoint::open(text_field(message, "checkpoint")));
    auto weights = truth_field(message, "headless") ? ModelWeights::encoder_of(checkpoint)
                                                    : taken(ModelWeights::of(checkpoint));
    const std::int64_t positions = whole_field(message, "positions");
    if (positions > weights->shape().positions) weights = weights->extended_to(positions);
    Chosen chosen = choose(weights, variant, text_field(message, "implementation"));
    model.shape = weights->shape();
    model.encoder = std::move(chosen.encoder);
    model.request = message;
    model.implementation = chosen.implementation;
  }
  channel.send({{"event", "model"}, {"implementation", model.implementation}});
}

void answer_score(const Request& request, ProtocolChannel& channel, LoadedModel& model) {
  CrossEncoder& encoder = loaded(model);
  if (truth_field(model.request, "headless")) {
    throw RequestError("the model was loaded without a head, so it gives no scores");
  }
  const Pairs pairs = pairs_of(request.message, model);
  const ModelOutput output = taken(encoder.score(pairs.batch));
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
  CrossEncoder& encoder = loaded(model);
  const Pairs pairs = pairs_of(message, model);
  if (pairs.batch.items.size() != 1) throw RequestError("'inspect' looks at one pair");
  const std::set<std::int64_t> wanted = layers_of(message, model.shape.layers);
  Captured captured(model.shape);
  const ModelOutput output = taken(
      encoder.inspect(pairs.batch.items.front(), pairs.batch.cls, [&](const CapturedLayer& layer) {
        if (wanted.contains(layer.layer)) captured.take(layer);
      }));
  SafetensorsOptions options{.metadata = {}, .half = truth_field(message, "half")};
  for (const auto& [key, text] : field(message, "metadata").items()) {
    if (!text.is_string()) throw RequestError(fmt::format("the metadata '{}' must be a text", key));
    options.metadata.emplace(key, text.get<std::string>());
  }
  if (const Status written =
          write_safetensors(text_field(message, "out"), captured.tensors(), options);
      !written) {
    throw RequestError(written.error().message);
  }
  json event = {{"event", "inspect"}};
  const float score = output.scores.front();
  if (!truth_field(model.request, "headless") && std::isfinite(score)) event["score"] = score;
  channel.send(event);
}

}  // namespace attnscope::worker
