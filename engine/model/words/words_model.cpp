// SPDX-License-Identifier: Apache-2.0
#include "engine/model/words/words_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/attention/torch_tensors.h"
#include "engine/documents/document_cache.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/family.h"
#include "engine/model/words/words_description.h"

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

at::Tensor WordsReference::tensor(const std::string& name) const {
  return weights_.tensor(name).to(at::kDouble);
}

at::Tensor WordsReference::linear(const std::string& name, const at::Tensor& x) const {
  return at::linear(x, tensor(name + ".weight"), tensor(name + ".bias"));
}

at::Tensor WordsReference::norm(const std::string& name, const at::Tensor& x) const {
  constexpr double epsilon = 1e-5;
  return at::layer_norm(x, {x.size(-1)}, tensor(name + ".weight"), tensor(name + ".bias"), epsilon);
}

at::Tensor WordsReference::embed(TokenIds words) const {
  const std::vector<std::int64_t> ids(words.begin(), words.end());
  return at::embedding(weights_.tensor(word_embeddings), at::tensor(ids, at::kLong))
      .to(at::kDouble);
}

at::Tensor WordsReference::contextualize(at::Tensor x) const {
  const std::int64_t hidden = shape().hidden, dim = shape().head_dim();
  for (std::int64_t layer = 0; layer < shape().layers; ++layer) {
    const auto name = [&](std::string_view part) { return name_in_contextualizer(layer, part); };
    const at::Tensor projected = at::linear(x, tensor(name("self_attn.in_proj_weight")),
                                            tensor(name("self_attn.in_proj_bias")));
    std::vector<at::Tensor> heads;
    for (std::int64_t h = 0; h < shape().heads; ++h) {
      const auto part = [&](std::int64_t of) {
        return projected.narrow(1, of * hidden + h * dim, dim);
      };
      const at::Tensor scores =
          at::matmul(part(0), part(1).t()) / std::sqrt(static_cast<double>(dim));
      heads.push_back(at::matmul(at::softmax(scores, 1), part(2)));
    }
    x = norm(name("norm1"), x + linear(name("self_attn.out_proj"), at::cat(heads, 1)));
    x = norm(name("norm2"), x + linear(name("linear2"), linear(name("linear1"), x).relu()));
  }
  return x;
}

at::Tensor WordsReference::cosines(const at::Tensor& a, const at::Tensor& b) {
  constexpr double least = 1e-13;
  const auto unit = [&](const at::Tensor& x) {
    return x / (x.pow(2).sum(1, /*keepdim=*/true).sqrt() + least);
  };
  return at::matmul(unit(a), unit(b).t());
}

at::Tensor WordsReference::kernels(const at::Tensor& c, double first_width) {
  const at::Tensor centres =
      at::tensor(std::vector<double>{1, .9, .7, .5, .3, .1, -.1, -.3, -.5, -.7, -.9}, at::kDouble);
  at::Tensor widths = at::full({11}, 0.1, at::kDouble);
  widths[0] = first_width;
  return at::exp(-(c.unsqueeze(-1) - centres).pow(2) / (2 * widths.pow(2)));
}

at::Tensor WordsReference::log_sums(const at::Tensor& cosines, double first_width) {
  constexpr double least = 1e-10, scale = 0.01;
  return (kernels(cosines, first_width).sum(1).clamp_min(least).log() * scale).sum(0);
}

at::Tensor WordsReference::convolve(const std::string& name, const at::Tensor& x) const {
  const at::Tensor weight = tensor(name + ".weight");
  const std::int64_t extent = weight.size(2), rows = x.size(1), columns = x.size(2);
  const at::Tensor padded = at::constant_pad_nd(x, {0, extent - 1, 0, extent - 1}, 0);
  at::Tensor sum = tensor(name + ".bias").reshape({-1, 1});
  for (std::int64_t row = 0; row < extent; ++row) {
    for (std::int64_t column = 0; column < extent; ++column) {
      const at::Tensor seen = padded.narrow(1, row, rows).narrow(2, column, columns);
      sum = sum + weight.select(2, row).select(2, column).matmul(seen.flatten(1));
    }
  }
  return sum.reshape({-1, rows, columns});
}

at::Tensor WordsReference::sinusoids(std::int64_t from, std::int64_t count) const {
  const std::int64_t half = shape().hidden / 2;
  const at::Tensor rates =
      at::exp(at::arange(half, at::kDouble) * (-std::log(10000.0) / static_cast<double>(half - 1)));
  const at::Tensor angles =
      at::arange(from, from + count, at::kDouble).unsqueeze(1) * rates.unsqueeze(0);
  return at::cat({angles.sin(), angles.cos()}, 1);
}

Status WordsFamily::supports(const ModelConfig& config, const ModelVariant& variant,
                             std::string_view implementation) const {
  const std::string_view id = words().id();
  const auto known = implementations();
  if (std::ranges::find(known, implementation) == known.end()) {
    return fail("models of the family {} are computed by {}, not by '{}'", id,
                fmt::join(known, ", "), in_a_sentence(implementation));
  }
  if (variant.dtype != DType::float32) {
    return fail("models of the family {} compute in float32: kernels in 16 bits lose their tails",
                id);
  }
  if (variant.device != DeviceKind::cpu) {
    return fail("models of the family {} are computed only on the CPU", id);
  }
  const std::string_view pattern = words().rows().front().pattern;
  if (variant.pattern.name != pattern) {
    return fail("models of the family {} have the pattern '{}', not '{}'", id, pattern,
                in_a_sentence(variant.pattern.name));
  }
  const auto made = words().configured(config, variant.options);
  if (!made) return tl::unexpected(made.error());
  return fits(*made, variant, implementation);
}

Result<std::unique_ptr<Model>> WordsFamily::make(const std::shared_ptr<const ModelWeights>& weights,
                                                 const ModelVariant& variant,
                                                 std::string_view implementation) const {
  const c10::InferenceMode no_graph;
  if (Status able = supports(weights->config(), variant, implementation); !able) {
    return tl::unexpected(able.error());
  }
  const auto config = words().configured(weights->config(), variant.options);
  if (!config) return tl::unexpected(config.error());
  if (Status there = has_tensors(*weights, *config); !there) return tl::unexpected(there.error());
  use_torch_threads(variant.threads);
  return model(weights, *config, variant, implementation);
}

Result<ReferenceOutput> WordsFamily::reference(const ModelWeights& weights,
                                               const ModelVariant& variant,
                                               const PairBatch::Item& item,
                                               std::int32_t /*cls*/) const {
  const c10::InferenceMode no_graph;
  use_torch_threads(variant.threads);
  const auto config = words().configured(weights.config(), variant.options);
  if (!config) return tl::unexpected(config.error());
  return reference_of(WordsReference(weights), *config, without_padding(item.query),
                      without_padding(item.document));
}

double WordsFamily::error_bound(DType /*dtype*/, const ModelShape& /*shape*/) const {
  // A sum of a kernel far from all cosines has the relative error of its exponent, about 200 times
  // the rounding of a cosine.
  return 1e-4;
}

Status WordsFamily::fits(const ModelConfig& /*config*/, const ModelVariant& /*variant*/,
                         std::string_view /*implementation*/) const {
  return {};
}

}  // namespace attnscope
