// SPDX-License-Identifier: Apache-2.0
#include "engine/model/words/encoded_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/query_groups.h"

namespace attnscope {
namespace {

/// Words per thread that are encoded in one call: temporary memory does not grow with the number of
/// documents, and the vectors are still in the caches when they are scored.
constexpr std::int64_t words_of_a_thread = 1'024;

}  // namespace

cpu::PoolingCall EncodedModel::Encoded::pooling() const {
  std::int64_t end = 0;
  for (const TokenRange& document : documents) end = std::max(end, document.end);
  return {.query = {query.const_data_ptr<float>(), query.size(1)},
          .query_rows = query.size(0),
          .tokens = {rows, query.size(1)},
          .token_rows = end,
          .width = query.size(1),
          .documents = documents,
          .tokens_normalised = true};
}

EncodedModel::EncodedModel(const std::shared_ptr<const ModelWeights>& weights,
                           const ModelConfig& config, const ModelVariant& variant,
                           const Implementation& implementation, std::string_view encoding)
    : WordsModel(weights, config, variant),
      contextualizer_(*weights, variant, implementation),
      maker_{.family = std::string(config.family->id()),
             .weights = 0,
             .dtype = variant.dtype,
             .encoding = fmt::format("{}, {} heads", encoding, config.shape.heads)} {}

Result<DocumentCache> EncodedModel::encode_documents(std::span<const TokenIds> documents,
                                                     std::int32_t /*cls*/) {
  const c10::InferenceMode no_graph;
  use_torch_threads(threads());
  if (Status able = check_documents(documents); !able) return tl::unexpected(able.error());
  std::vector<std::int64_t> offsets{0};
  std::vector<std::byte> bytes;
  const std::vector<TokenIds> texts = without_padding(documents);
  for (const auto piece : pieces_of_words(texts, words_at_once())) {
    const auto rows = encode(piece);
    if (!rows) return tl::unexpected(rows.error());
    const auto* first = static_cast<const std::byte*>(rows->const_data_ptr());
    bytes.insert(bytes.end(), first, first + rows->nbytes());
    for (const TokenIds text : piece) offsets.push_back(offsets.back() + kept_of(words_in(text)));
  }
  return DocumentCache(maker(), hidden(), std::move(offsets), std::move(bytes));
}

Result<ModelWork> EncodedModel::work_of_documents(std::span<const TokenIds> documents) const {
  return work_of_encoding(words_in(without_padding(documents)));
}

Result<CachedRows> EncodedModel::cached_rows(std::int64_t tokens) const {
  return CachedRows{.rows = kept_of(tokens), .width = hidden()};
}

Result<GroupOutput> EncodedModel::score_words(TokenIds query, std::span<const TokenIds> documents,
                                              const Show& show) {
  const auto encoded = encode_query(query);
  if (!encoded) return tl::unexpected(encoded.error());
  GroupOutput all;
  for (const auto piece : pieces_of_words(documents, words_at_once())) {
    const auto rows = encode(piece);
    if (!rows) return tl::unexpected(rows.error());
    std::vector<TokenRange> ranges;
    for (std::int64_t first = 0; const TokenIds text : piece) {
      const std::int64_t own = kept_of(words_in(text));
      ranges.push_back({first, first + own});
      first += own;
    }
    const auto done = interact({*encoded, query, rows->const_data_ptr<float>(), ranges}, show);
    if (!done) return tl::unexpected(done.error());
    all.scores.insert(all.scores.end(), done->scores.begin(), done->scores.end());
    all.states.insert(all.states.end(), done->states.begin(), done->states.end());
  }
  return all;
}

Result<GroupOutput> EncodedModel::score_encoded(TokenIds query, const DocumentCache& documents,
                                                std::span<const std::int64_t> numbers,
                                                const Show& show) {
  const auto encoded = encode_query(query);
  if (!encoded) return tl::unexpected(encoded.error());
  const DocumentRows rows(documents);
  std::vector<TokenRange> ranges;
  ranges.reserve(numbers.size());
  // In float32, the format of the computation, rows are read in place.
  if (documents.format() == VectorFormat::float32) {
    for (const std::int64_t number : numbers) ranges.push_back(rows.range(number));
    const auto* first = reinterpret_cast<const float*>(documents.vectors().data);
    return interact({*encoded, query, first, ranges}, show);
  }
  const at::Tensor gathered = rows.gathered(numbers, {}).contiguous();
  for (std::int64_t first = 0; const std::int64_t number : numbers) {
    const std::int64_t own = documents.rows_of(number);
    ranges.push_back({first, first + own});
    first += own;
  }
  return interact({*encoded, query, gathered.const_data_ptr<float>(), ranges}, show);
}

Status EncodedModel::takes(const DocumentCache& documents) {
  return documents.fits(maker());
}

ModelWork EncodedModel::work_of(const WordCounts& counts) const {
  ModelWork sum = work_of_interaction(kept(counts));
  const std::vector<std::int64_t> query{counts.query};
  // Lengths that are valid for a text are valid for a layout.
  if (const auto work = contextualizer_.work(query)) add(*work, 1, sum);
  if (counts.encoded) return sum;
  if (const auto work = work_of_encoding(counts.documents)) add(*work, 1, sum);
  return sum;
}

std::int64_t EncodedModel::peak_bytes(const WordCounts& counts) const {
  const std::int64_t own = bytes_of_interaction(kept(counts));
  return counts.encoded ? own : own + bytes_of_encoding(counts.documents);
}

WordCounts EncodedModel::kept(WordCounts counts) const {
  if (!counts.encoded)
    for (std::int64_t& words : counts.documents) words = kept_of(words);
  return counts;
}

std::int64_t EncodedModel::words_at_once() const {
  return words_of_a_thread * std::max(threads(), 1);
}

std::vector<std::int64_t> EncodedModel::sequences_of_all(
    std::span<const std::int64_t> documents) const {
  std::vector<std::int64_t> sequences;
  for (const std::int64_t words : documents) {
    const std::vector<std::int64_t> own = sequences_of(words);
    sequences.insert(sequences.end(), own.begin(), own.end());
  }
  return sequences;
}

Result<ModelWork> EncodedModel::work_of_encoding(std::span<const std::int64_t> documents) const {
  return contextualizer_.work(sequences_of_all(documents));
}

/// The vectors of a piece, and the memory of a run of the layers.
std::int64_t EncodedModel::bytes_of_encoding(std::span<const std::int64_t> documents) const {
  std::int64_t most = 0;
  for (const auto piece :
       runs_of(documents, words_at_once(), [](std::int64_t words) { return words; })) {
    std::int64_t kept = 0;
    for (const std::int64_t words : piece) kept += kept_of(words);
    most = std::max(most, kept * hidden() * static_cast<std::int64_t>(sizeof(float)) +
                              contextualizer_.peak_bytes(sequences_of_all(piece)));
  }
  return most;
}

const DocumentCache::Maker& EncodedModel::maker() {
  if (maker_.weights == 0) maker_.weights = weights().fingerprint();
  return maker_;
}

}  // namespace attnscope
