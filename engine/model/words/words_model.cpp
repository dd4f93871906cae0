// SPDX-License-Identifier: Apache-2.0
#include "engine/model/words/words_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/attention/torch_tensors.h"
#include "engine/documents/document_cache.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/query_groups.h"

namespace attnscope {
namespace {

constexpr std::string_view no_pairs = "a batch without pairs has nothing to score";

std::vector<std::int64_t> numbers_of(const PairBatch& batch, const QueryGroup& group) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(group.items.size());
  for (const std::size_t item : group.items) numbers.push_back(batch.items[item].cached);
  return numbers;
}

std::vector<TokenIds> texts_of(const PairBatch& batch, const QueryGroup& group) {
  std::vector<TokenIds> texts;
  texts.reserve(group.items.size());
  for (const std::size_t item : group.items)
    texts.push_back(without_padding(batch.items[item].document));
  return texts;
}

}  // namespace

double WordCounts::words() const {
  return static_cast<double>(std::accumulate(documents.begin(), documents.end(), std::int64_t{0}));
}

WordsModel::WordsModel(std::shared_ptr<const ModelWeights> weights, ModelConfig config,
                       const ModelVariant& variant)
    : weights_(std::move(weights)),
      config_(std::move(config)),
      threads_(variant.threads),
      embeddings_(weights_->tensor(word_embeddings)) {}

Status WordsModel::supports(const PairBatch& batch) const {
  return check(batch);
}

Result<std::int64_t> WordsModel::predicted_peak_bytes(const PairBatch& batch) const {
  const auto counts = counts_of(batch);
  if (!counts) return tl::unexpected(counts.error());
  std::int64_t most = 0;
  for (const WordCounts& group : *counts) most = std::max(most, peak_bytes(group));
  return most + static_cast<std::int64_t>(batch.items.size() * sizeof(float));
}

Result<ModelWork> WordsModel::work(const PairBatch& batch) const {
  const auto counts = counts_of(batch);
  if (!counts) return tl::unexpected(counts.error());
  ModelWork sum;
  for (const WordCounts& group : *counts) add(work_of(group), 1, sum);
  return sum;
}

Result<ModelOutput> WordsModel::score(const PairBatch& batch, const Show& show) {
  const c10::InferenceMode no_graph;
  use_torch_threads(threads_);
  if (Status able = check(batch); !able) return tl::unexpected(able.error());
  if (batch.documents != nullptr) {
    if (Status fits = accepts(*batch.documents); !fits) return tl::unexpected(fits.error());
  }
  const std::vector<QueryGroup> groups = groups_of(batch);
  std::vector<GroupOutput> done;
  done.reserve(groups.size());
  for (const QueryGroup& group : groups) {
    const TokenIds query = without_padding(group.query);
    auto output = batch.documents != nullptr
                      ? score_encoded(query, *batch.documents, numbers_of(batch, group), show)
                      : score_words(query, texts_of(batch, group), show);
    if (!output) return tl::unexpected(output.error());
    if (!batch.with_states) output->states.clear();
    done.push_back(std::move(*output));
  }
  return collected(groups, done, batch.items.size());
}

Result<GroupOutput> WordsModel::score_encoded(TokenIds /*query*/,
                                              const DocumentCache& /*documents*/,
                                              std::span<const std::int64_t> /*numbers*/,
                                              const Show& /*show*/) {
  return fail("a model of the family {} encodes no documents", config_.family->id());
}

Status WordsModel::accepts(const DocumentCache& /*documents*/) {
  return fail("a model of the family {} encodes no documents", config_.family->id());
}

Status WordsModel::check(TokenIds words, std::string_view what, std::int64_t most) const {
  const TokenIds text = without_padding(words);
  if (most > 0 && words_in(text) > most) {
    return fail("{} has {} words, and the model accepts {}; truncate it", what, text.size(), most);
  }
  for (const std::int32_t word : text) {
    if (word < 0 || word >= config_.shape.vocabulary) {
      return fail("{} has the word id {}, and the list of words ends at {}", what, word,
                  config_.shape.vocabulary - 1);
    }
    if (word == padding_word) {
      return fail("{} has padding (id 0) between its words; padding may only follow them", what);
    }
  }
  return {};
}

Status WordsModel::check_documents(std::span<const TokenIds> documents) const {
  for (const TokenIds document : documents) {
    Status able = check(document, "a document", config_.most_document_tokens);
    if (!able) return able;
  }
  return {};
}

Status WordsModel::check(const PairBatch& batch) const {
  if (batch.items.empty()) return fail("{}", no_pairs);
  for (const PairBatch::Item& item : batch.items) {
    Status able = check(item.query, "a query", config_.most_query_tokens);
    if (!able) return able;
    if (without_padding(item.query).empty()) return fail("a query without words has no scores");
    if (batch.documents != nullptr) continue;
    able = check(item.document, "a document", config_.most_document_tokens);
    if (!able) return able;
  }
  return batch.documents != nullptr ? has_its_documents(batch) : Status();
}

Result<std::vector<WordCounts>> WordsModel::counts_of(const PairBatch& batch) const {
  if (Status able = check(batch); !able) return tl::unexpected(able.error());
  std::vector<WordCounts> all;
  for (const QueryGroup& group : groups_of(batch)) {
    WordCounts& counts = all.emplace_back(WordCounts{
        .query = words_in(without_padding(group.query)), .encoded = batch.documents != nullptr});
    counts.documents.reserve(group.items.size());
    for (const std::size_t item : group.items) {
      const PairBatch::Item& pair = batch.items[item];
      counts.documents.push_back(counts.encoded ? batch.documents->rows_of(pair.cached)
                                                : words_in(without_padding(pair.document)));
    }
  }
  return all;
}

at::Tensor WordsModel::embed(std::span<const TokenIds> texts) const {
  std::vector<std::int64_t> ids;
  for (const TokenIds text : texts) ids.insert(ids.end(), text.begin(), text.end());
  return at::embedding(embeddings_, at::tensor(ids, at::kLong));
}

std::vector<std::span<const TokenIds>> pieces_of_words(std::span<const TokenIds> documents,
                                                       std::int64_t most) {
  return runs_of(documents, most, [](TokenIds document) { return words_in(document); });
}

void to_unit_length(at::Tensor& rows) {
  constexpr double least = 1e-13;
  rows.div_(rows.norm(2, 1, /*keepdim=*/true).add_(least));
}

TokenIds without_padding(TokenIds text) {
  while (!text.empty() && text.back() == padding_word) text = text.first(text.size() - 1);
  return text;
}

std::vector<TokenIds> without_padding(std::span<const TokenIds> texts) {
  std::vector<TokenIds> all;
  all.reserve(texts.size());
  for (const TokenIds text : texts) all.push_back(without_padding(text));
  return all;
}

std::int64_t words_in(TokenIds text) {
  return static_cast<std::int64_t>(text.size());
}

std::vector<std::int64_t> words_in(std::span<const TokenIds> texts) {
  std::vector<std::int64_t> all;
  all.reserve(texts.size());
  for (const TokenIds text : texts) all.push_back(words_in(text));
  return all;
}

}  // namespace attnscope
