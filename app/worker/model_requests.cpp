// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/worker/requests.h"
#include "base/sentences.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/measure/machine.h"
#include "engine/model/model_weights.h"
#include "engine/model/part_times.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope::worker {
namespace {

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

const DocumentCache& opened(const LoadedModel& model) {
  if (!model.cache) throw RequestError("no cache is open; send 'open-cache' first");
  return *model.cache;
}

/// The batch of a request's items, to whose ids it refers.
PairBatch batch_of(std::int32_t cls, const std::vector<protocol::ScoreItem>& items,
                   const LoadedModel& model) {
  PairBatch batch;
  batch.cls = cls;
  batch.document_type = model.document_type;
  check_ids({&cls, 1}, model, "cls");
  std::size_t cached = 0;
  for (const protocol::ScoreItem& item : items) {
    if (!item.document && !item.cached)
      throw RequestError("an item of the batch needs the field 'document' or 'cached'");
    check_ids(item.query, model, "query");
    PairBatch::Item& pair =
        batch.items.emplace_back(PairBatch::Item{.query = item.query, .document = {}});
    if (item.cached) {
      pair.cached = *item.cached;
      ++cached;
    } else {
      check_ids(*item.document, model, "document");
      pair.document = *item.document;
    }
  }
  if (cached == 0) return batch;
  if (cached < items.size())
    throw RequestError("some pairs of the batch have a document and others a number of the cache");
  batch.documents = &opened(model);
  return batch;
}

/// The batch of a request to score, to whose ids it refers.
PairBatch batch_of(const protocol::ScoreRequest& request, const LoadedModel& model) {
  if (request.cached) {
    if (!request.query) throw RequestError("'cached' needs the field 'query'");
    PairBatch batch = batch_of(request.cls, {}, model);
    check_ids(*request.query, model, "query");
    batch.documents = &opened(model);
    batch.one_query = true;
    for (const std::int64_t number : *request.cached)
      batch.items.push_back({.query = *request.query, .document = {}, .cached = number});
    return batch;
  }
  if (!request.items) throw RequestError("'score' needs the field 'items' or 'cached'");
  PairBatch batch = batch_of(request.cls, *request.items, model);
  batch.one_query = request.one_query;
  const auto is_other = [&](const protocol::ScoreItem& item) {
    return item.query != request.items->front().query;
  };
  if (batch.one_query && std::ranges::any_of(*request.items, is_other))
    throw RequestError("the pairs of a batch with 'one_query' have different queries");
  return batch;
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

}  // namespace

ModelVariant variant_of(const protocol::ModelRequest& request) {
  if (Status able = supports_precision(request.precision, request.dtype, usable(request.device));
      !able) {
    throw RequestError(able.error().message);
  }
  return {.pattern = request.pattern,
          .window = request.window,
          .local = request.local,
          .layer_windows = request.layer_windows,
          .options = request.options,
          .dtype = request.dtype,
          .products = request.precision,
          .device = request.device,
          .threads = threads_or_all(request.threads)};
}

Model& loaded(const LoadedModel& model) {
  if (!model.model) throw RequestError("no model is loaded; send 'model' first");
  return *model.model;
}

void check_ids(std::span<const std::int32_t> ids, const LoadedModel& model, std::string_view what) {
  const auto unknown = std::ranges::find_if(
      ids, [&](std::int32_t id) { return id < 0 || id >= model.shape.vocabulary; });
  if (unknown == ids.end()) return;
  throw RequestError(
      fmt::format("'{}' has the token id {}; the ids of the model's vocabulary are 0 to {}", what,
                  *unknown, model.shape.vocabulary - 1));
}

Checkpoint checkpoint_of(const protocol::ModelRequest& request) {
  Checkpoint checkpoint = taken(Checkpoint::open(request.checkpoint));
  HeadConfig& head = checkpoint.config.head;
  if (!request.label.empty()) head.label = taken(parse_label(request.label, head.labels));
  if (request.skipped_tokens) head.skipped_tokens = *request.skipped_tokens;
  if (request.max_sim) {
    if (!head.max_sim) throw RequestError("'max_sim' is only for models with a vector per token");
    head.max_sim->separator = request.max_sim->separator;
    const std::vector<std::int32_t>& skipped = request.max_sim->skipped;
    head.max_sim->skipped.insert(head.max_sim->skipped.end(), skipped.begin(), skipped.end());
    std::ranges::sort(head.max_sim->skipped);
  }
  return checkpoint;
}

std::shared_ptr<const ModelWeights> weights_of(const protocol::ModelRequest& request,
                                               const Checkpoint& checkpoint) {
  auto weights = taken(ModelWeights::of(checkpoint));
  if (request.positions <= weights->shape().positions) return weights;
  return taken(family_of(*checkpoint.config.family).extended_to(weights, request.positions));
}

void answer(const protocol::ModelRequest& request, const Call& call) {
  LoadedModel& model = call.model;
  if (!model.model || model.request != request) {
    model = {};
    const ModelVariant variant = variant_of(request);
    measure::set_threads(variant.threads);
    const Checkpoint checkpoint = checkpoint_of(request);
    const Family& family = family_of(*checkpoint.config.family);
    const auto weights = weights_of(request, checkpoint);
    const std::string implementation =
        choose(family, weights->config(), variant, request.implementation);
    model = {.request = request,
             .shape = weights->shape(),
             .gives_scores = checkpoint.gives_scores,
             .implementation = implementation,
             .document_type = request.document_type,
             .model = taken(family.make(weights, variant, implementation))};
  }
  call.send(protocol::ModelLoaded{.implementation = model.implementation});
}

void answer(const protocol::ScoreRequest& request, const Call& call) {
  Model& scorer = loaded(call.model);
  if (!call.model.gives_scores)
    throw RequestError("the model was loaded without a head, so it gives no scores");
  PairBatch batch = batch_of(request, call.model);
  batch.with_states = false;
  protocol::Scores answer;
  if (!request.parts) {
    answer.scores = scores_within_memory(scorer, batch);
  } else {
    const ModelWork work = taken(scorer.work(batch));  // planning is not part of the call's time
    const PartTimes times;
    answer.scores = scores_within_memory(scorer, batch);
    answer.parts.emplace();
    for (const ModelPart part : model_parts) {
      protocol::ScoredPart scored{.name = std::string(name_of(part)),
                                  .seconds = times.seconds(part)};
      if (const double flop = useful_flop(work, part); flop > 0) scored.flop = flop;
      answer.parts->push_back(std::move(scored));
    }
  }
  call.send(answer);
}

void answer(const protocol::InspectRequest& request, const Call& call) {
  const LoadedModel& model = call.model;
  Model& scorer = loaded(model);
  const PairBatch batch = batch_of(request.cls, request.items, model);
  if (batch.items.size() != 1) throw RequestError("'inspect' needs exactly one pair");
  std::set<std::int64_t> wanted;
  for (std::int64_t layer = 0; layer < model.shape.layers; ++layer) wanted.insert(layer);
  if (request.layers) {
    const std::set<std::int64_t> named(request.layers->begin(), request.layers->end());
    if (!std::ranges::includes(wanted, named))
      throw RequestError(fmt::format("layers are counted from 0 to {}", model.shape.layers - 1));
    wanted = named;
  }
  std::vector<Shown> shown;
  std::set<std::int64_t> there_are;
  const ModelOutput output = taken(scorer.score(batch, [&](Shown tensor) {
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
  taken(write_safetensors(request.out, tensors,
                          {.metadata = request.metadata, .half = request.half}));
  protocol::PairInspected answer;
  const float score = output.scores.front();
  if (model.gives_scores && std::isfinite(score)) answer.score = score;
  call.send(answer);
}

namespace {

/// A cache without documents: it has the maker and the width of the model's caches.
DocumentCache none_encoded(Model& model) {
  return taken(model.encode_documents({}, 0));
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw RequestError("a cache of more than 2^63 rows");
  return result;
}

/// Total rows of all documents, from pairs of a length in tokens and the number of documents.
std::int64_t rows_of_all(const protocol::BeginCacheRequest& request, const Model& model) {
  std::int64_t rows = 0, counted = 0;
  for (const auto& [length, documents] : request.lengths) {
    if (length < 0 || documents < 1 || documents > request.documents)
      throw RequestError(fmt::format("'lengths' has {} documents of {} tokens", documents, length));
    rows += product(taken(model.cached_rows(length)).rows, documents);
    counted += documents;
  }
  if (counted != request.documents) {
    throw RequestError(
        fmt::format("{} documents have a length, not all {}", counted, request.documents));
  }
  return rows;
}

DocumentCacheWriter& begun(const LoadedModel& model) {
  if (!model.writer) throw RequestError("no cache is being written; send 'begin-cache' first");
  return *model.writer;
}

}  // namespace

void answer(const protocol::OpenCacheRequest& request, const Call& call) {
  LoadedModel& model = call.model;
  model.cache.reset();
  const CacheMaker maker = none_encoded(loaded(model)).maker();
  auto cache =
      std::make_unique<const DocumentCache>(taken(DocumentCache::open(request.path, maker)));
  if (const Status whole = cache->check_sum(); !whole) throw RequestError(whole.error().message);
  model.cache = std::move(cache);
  call.send(protocol::CacheOpened{.documents = model.cache->documents()});
}

void answer(const protocol::BeginCacheRequest& request, const Call& call) {
  LoadedModel& model = call.model;
  model.writer.reset();
  Model& encoder = loaded(model);
  const DocumentCache none = none_encoded(encoder);
  const CacheContents contents{
      .maker = none.maker(),
      .format = taken(parse_vector_format(request.format)),
      .width = none.width(),
      .documents = request.documents,
      .rows = rows_of_all(request, encoder),
      .id_bytes = request.id_bytes,
      .source = {.file = request.file,
                 .most_tokens = request.most_tokens,
                 .fingerprint = static_cast<std::uint64_t>(request.fingerprint),
                 .tokenizer = static_cast<std::uint64_t>(request.tokenizer)}};
  model.writer = std::make_unique<DocumentCacheWriter>(
      taken(DocumentCacheWriter::begin(request.out, contents, {.restart = request.restart})));
  call.send(
      protocol::CacheBegun{.encoded = model.writer->encoded(),
                           .fingerprint = static_cast<std::int64_t>(model.writer->fingerprint()),
                           .finished = model.writer->is_finished()});
}

void answer(const protocol::AddDocumentsRequest& request, const Call& call) {
  DocumentCacheWriter& writer = begun(call.model);
  if (request.ids.size() != request.documents.size()) {
    throw RequestError(
        fmt::format("{} documents have {} ids", request.documents.size(), request.ids.size()));
  }
  check_ids({&request.cls, 1}, call.model, "cls");
  for (const protocol::TokenIds& document : request.documents)
    check_ids(document, call.model, "documents");
  const std::vector<TokenIds> views(request.documents.begin(), request.documents.end());
  const DocumentCache encoded = taken(loaded(call.model).encode_documents(views, request.cls));
  if (const auto number = encoded.first_not_finite()) {
    throw RequestError(
        fmt::format("document '{}' is encoded to values that are infinite or NaN; are the "
                    "checkpoint's weights damaged?",
                    in_a_sentence(request.ids[static_cast<std::size_t>(*number)])));
  }
  taken(writer.append(encoded, request.ids, static_cast<std::uint64_t>(request.fingerprint)));
  call.send(protocol::DocumentsAdded{.encoded = writer.encoded()});
}

void answer(const protocol::FinishCacheRequest& /*request*/, const Call& call) {
  DocumentCacheWriter& writer = begun(call.model);
  taken(writer.finish());
  protocol::CacheFinished finished{.bytes = writer.file_bytes()};
  if (const auto error = writer.error()) {
    finished.largest_relative_error = error->largest;
    finished.mean_relative_error = error->mean;
  }
  call.model.writer.reset();
  call.send(finished);
}

}  // namespace attnscope::worker
