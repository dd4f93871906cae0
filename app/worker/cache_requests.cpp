// SPDX-License-Identifier: Apache-2.0
#include "app/worker/cache_requests.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/sentences.h"

namespace attnscope::worker {
namespace {

constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

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
std::int64_t rows_of_all(const JsonField& lengths, const Model& model, std::int64_t documents) {
  std::int64_t rows = 0, counted = 0;
  for (const JsonField& pair : lengths.elements()) {
    const std::vector<JsonField> both = pair.elements();
    if (both.size() != 2)
      pair.must_be("a document length and the number of documents that have it");
    const auto many = both[1].whole(1, documents);
    rows += product(taken(model.cached_rows(both[0].whole(0))).rows, many);
    counted += many;
  }
  if (counted != documents) {
    throw RequestError(fmt::format("{} documents have a length, not all {}", counted, documents));
  }
  return rows;
}

DocumentCacheWriter& begun(const LoadedModel& model) {
  if (!model.writer) throw RequestError("no cache is being written; send 'begin-cache' first");
  return *model.writer;
}

}  // namespace

void answer_open_cache(const ReceivedRequest& requested, ProtocolChannel& channel,
                       LoadedModel& model) {
  model.cache.reset();
  const CacheMaker maker = none_encoded(loaded(model)).maker();
  auto cache = std::make_unique<const DocumentCache>(
      taken(DocumentCache::open(requested.message["path"].text(), maker)));
  if (const Status whole = cache->check_sum(); !whole) throw RequestError(whole.error().message);
  model.cache = std::move(cache);
  channel.send({{"event", "cache-open"}, {"documents", model.cache->documents()}});
}

void answer_begin_cache(const ReceivedRequest& requested, ProtocolChannel& channel,
                        LoadedModel& model) {
  const JsonField& message = requested.message;
  model.writer.reset();
  Model& encoder = loaded(model);
  const DocumentCache none = none_encoded(encoder);
  const auto documents = message["documents"].whole(1);
  const CacheContents contents{
      .maker = none.maker(),
      .format = message["format"].take(parse_vector_format(message["format"].text())),
      .width = none.width(),
      .documents = documents,
      .rows = rows_of_all(message["lengths"], encoder, documents),
      .id_bytes = message["id_bytes"].whole(0, beyond),
      .source = {.file = message["file"].text(),
                 .most_tokens = message["most_tokens"].whole(0),
                 .fingerprint = static_cast<std::uint64_t>(message["fingerprint"].whole()),
                 .tokenizer = static_cast<std::uint64_t>(message["tokenizer"].whole())}};
  model.writer = std::make_unique<DocumentCacheWriter>(taken(DocumentCacheWriter::begin(
      message["out"].text(), contents, {.restart = message.truth_or("restart", false)})));
  channel.send({{"event", "cache-begun"},
                {"encoded", model.writer->encoded()},
                {"fingerprint", static_cast<std::int64_t>(model.writer->fingerprint())},
                {"finished", model.writer->is_finished()}});
}

void answer_add_documents(const ReceivedRequest& requested, ProtocolChannel& channel,
                          LoadedModel& model) {
  const JsonField& message = requested.message;
  DocumentCacheWriter& writer = begun(model);
  std::vector<std::vector<std::int32_t>> documents;
  std::vector<std::string> ids;
  for (const JsonField& document : message["documents"].elements())
    documents.push_back(token_ids(document, model));
  for (const JsonField& id : message["ids"].elements()) ids.push_back(id.text());
  if (ids.size() != documents.size()) {
    throw RequestError(fmt::format("{} documents have {} ids", documents.size(), ids.size()));
  }
  const std::vector<TokenIds> views(documents.begin(), documents.end());
  const DocumentCache encoded =
      taken(loaded(model).encode_documents(views, token_id(message["cls"], model)));
  if (const auto number = encoded.first_not_finite()) {
    throw RequestError(
        fmt::format("document '{}' is encoded to values that are infinite or NaN; are the "
                    "checkpoint's weights damaged?",
                    in_a_sentence(ids[static_cast<std::size_t>(*number)])));
  }
  taken(writer.append(encoded, ids, static_cast<std::uint64_t>(message["fingerprint"].whole())));
  channel.send({{"event", "documents-added"}, {"encoded", writer.encoded()}});
}

void answer_finish_cache(const ReceivedRequest& /*asked*/, ProtocolChannel& channel,
                         LoadedModel& model) {
  DocumentCacheWriter& writer = begun(model);
  taken(writer.finish());
  nlohmann::json event = {{"event", "cache-finished"}, {"bytes", writer.file_bytes()}};
  if (const auto error = writer.error()) {
    event["largest_relative_error"] = error->largest;
    event["mean_relative_error"] = error->mean;
  }
  model.writer.reset();
  channel.send(event);
}

}  // namespace attnscope::worker
