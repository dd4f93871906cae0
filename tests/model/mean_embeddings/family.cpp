// SPDX-License-Identifier: Apache-2.0
#include "engine/model/family.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/documents/document_cache.h"
#include "engine/model/model_weights.h"
#include "tests/model/mean_embeddings/mean_embeddings.h"

namespace attnscope {
namespace {

constexpr std::string_view implementation_id = "plain";

double tokens_of(const PairBatch& batch) {
  std::size_t tokens = 0;
  for (const PairBatch::Item& item : batch.items) {
    tokens += item.query.size() + (batch.documents == nullptr ? item.document.size() : 0);
  }
  return static_cast<double>(tokens);
}

class MeanEmbeddings final : public Model {
 public:
  explicit MeanEmbeddings(const ModelWeights& weights)
      : table_(weights.tensor(mean_embeddings_table)),
        maker_{.family = "mean-embeddings",
               .weights = weights.fingerprint(),
               .dtype = DType::float32} {}

  [[nodiscard]] Status supports(const PairBatch& batch) const override {
    if (batch.items.empty()) return fail("a batch without pairs has nothing to score");
    return {};
  }
  [[nodiscard]] Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    return static_cast<std::int64_t>(tokens_of(batch)) * width() * 4 +
           2 * static_cast<std::int64_t>(batch.items.size()) * width() * 4;
  }
  [[nodiscard]] Result<ModelWork> work(const PairBatch& batch) const override {
    const double values = (tokens_of(batch) + 2 * static_cast<double>(batch.items.size())) *
                          static_cast<double>(width());
    return ModelWork{.linear_flop = values, .least_bytes = 4 * values};
  }

  [[nodiscard]] Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    const c10::InferenceMode no_graph;
    if (Status able = supports(batch); !able) return tl::unexpected(able.error());
    if (batch.documents != nullptr) {
      if (Status fits = batch.documents->fits(maker_); !fits) return tl::unexpected(fits.error());
    }
    std::vector<at::Tensor> states;
    for (const PairBatch::Item& item : batch.items) {
      const auto query = mean(item.query);
      if (!query) return tl::unexpected(query.error());
      const auto document = document_of(batch, item);
      if (!document) return tl::unexpected(document.error());
      if (show) show({0, "query", {width()}, values_of(*query)});
      states.push_back(*query * *document);
    }
    const at::Tensor all = at::stack(states);
    return ModelOutput{.scores = values_of(all.sum(1)), .states = values_of(all)};
  }

  [[nodiscard]] Result<DocumentCache> encode_documents(std::span<const TokenIds> documents,
                                                       std::int32_t /*cls*/) override {
    const c10::InferenceMode no_graph;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::byte> rows;
    for (const TokenIds document : documents) {
      const auto encoded = mean(document);
      if (!encoded) return tl::unexpected(encoded.error());
      const auto* first = static_cast<const std::byte*>(encoded->const_data_ptr());
      rows.insert(rows.end(), first, first + encoded->nbytes());
      offsets.push_back(offsets.back() + 1);
    }
    return DocumentCache(maker_, width(), std::move(offsets), std::move(rows));
  }
  [[nodiscard]] Result<ModelWork> work_of_documents(
      std::span<const TokenIds> documents) const override {
    std::size_t tokens = 0;
    for (const TokenIds document : documents) tokens += document.size();
    const double values = static_cast<double>(tokens) * static_cast<double>(width());
    return ModelWork{.linear_flop = values, .least_bytes = 4 * values};
  }

 private:
  [[nodiscard]] std::int64_t width() const { return table_.size(1); }

  [[nodiscard]] Result<at::Tensor> mean(TokenIds ids) const {
    const auto outside =
        std::ranges::find_if(ids, [&](std::int32_t id) { return id < 0 || id >= table_.size(0); });
    if (ids.empty() || outside != ids.end()) return fail("token ids outside the vocabulary");
    const std::vector<std::int64_t> rows(ids.begin(), ids.end());
    return table_.index_select(0, at::tensor(rows, at::kLong)).mean(0);
  }

  [[nodiscard]] Result<at::Tensor> document_of(const PairBatch& batch,
                                               const PairBatch::Item& item) const {
    if (batch.documents == nullptr) return mean(item.document);
    if (item.cached < 0 || item.cached >= batch.documents->documents()) {
      return fail("document {} is not among the {} encoded ones", item.cached,
                  batch.documents->documents());
    }
    const auto bytes = batch.documents->document(item.cached);
    return at::from_blob(const_cast<std::byte*>(bytes.data()), {width()}, at::kFloat);
  }

  static std::vector<float> values_of(const at::Tensor& tensor) {
    const at::Tensor dense = tensor.contiguous();
    const float* first = dense.const_data_ptr<float>();
    return {first, first + dense.numel()};
  }

  at::Tensor table_;
  DocumentCache::Maker maker_;
};

class MeanEmbeddingsFamily final : public Family {
 public:
  [[nodiscard]] const FamilyDescription& description() const override {
    return mean_embeddings_description();
  }
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return {implementation_id};
  }
  [[nodiscard]] Status supports(const ModelConfig& /*config*/, const ModelVariant& variant,
                                std::string_view implementation) const override {
    if (implementation != implementation_id) {
      return fail("mean-embeddings has no attention and is computed only by 'plain', not by '{}'",
                  implementation);
    }
    if (variant.dtype != DType::float32) return fail("mean-embeddings computes only in float32");
    if (variant.device != DeviceKind::cpu) return fail("mean-embeddings computes only on the CPU");
    if (variant.pattern.name != "full") return fail("mean-embeddings has no attention pattern");
    return {};
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const override {
    const Status able = supports(weights->config(), variant, implementation);
    if (!able) return tl::unexpected(able.error());
    return std::make_unique<MeanEmbeddings>(*weights);
  }

  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& /*variant*/,
                                                  const PairBatch::Item& item,
                                                  std::int32_t /*cls*/) const override {
    const at::Tensor& table = weights.tensor(mean_embeddings_table);
    const std::int64_t width = table.size(1);
    const auto mean = [&](TokenIds ids, std::int64_t column) {
      double sum = 0;
      for (const std::int32_t id : ids) sum += table.const_data_ptr<float>()[id * width + column];
      return sum / static_cast<double>(ids.size());
    };
    ReferenceOutput output;
    for (std::int64_t column = 0; column < width; ++column) {
      output.state.push_back(mean(item.query, column) * mean(item.document, column));
      output.score += output.state.back();
    }
    return output;
  }
  [[nodiscard]] double error_bound(DType /*dtype*/, const ModelShape& shape) const override {
    return 1e-6 * static_cast<double>(shape.hidden);
  }
};

}  // namespace

const Family& mean_embeddings_family() {
  static const MeanEmbeddingsFamily family;
  return family;
}

// Instead of engine/model/list.cpp.
#define FAMILY(folder) const Family& folder##_family();
#include "engine/model/list.inc"
FAMILY(mean_embeddings)
#undef FAMILY

std::span<const Family* const> families() {
#define FAMILY(folder) &folder##_family(),
  static const std::array all{
#include "engine/model/list.inc"
      FAMILY(mean_embeddings)};
#undef FAMILY
  return all;
}

}  // namespace attnscope
