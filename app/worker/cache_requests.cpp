// SPDX-License-Identifier: Apache-2.0
#include "app/worker/cache_requests.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/worker/model_requests.h"
#include "base/sentences.h"

namespace attnscope::worker {
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
