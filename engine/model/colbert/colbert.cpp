// SPDX-License-Identifier: Apache-2.0
//
// ColBERT: a linear layer without a bias projects every token's last state to a unit-length vector;
// the score is the sum, over the query's tokens, of the largest product with a document token.
// In the authors' code, punctuation and padding of a document are zero vectors, so that no maximum
// is below 0. This implementation does not pad, so its maxima start at 0.
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/attention/torch_tensors.h"
#include "engine/model/colbert/colbert_config.h"
#include "engine/model/late/late_family.h"
#include "engine/model/late/late_model.h"

namespace attnscope {

const FamilyDescription& colbert_description();

namespace {

constexpr double least_length = 1e-12;

/// Rows normalized to unit length, computed in float32 at least.
at::Tensor of_length_one(const at::Tensor& rows) {
  return rows / at::linalg_vector_norm(rows, 2, {1}, /*keepdim=*/true).clamp_min(least_length);
}

/// Positions of punctuation among `ids`.
std::vector<std::int64_t> places_of(const std::vector<std::int64_t>& ids,
                                    const std::vector<std::int64_t>& punctuation) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (std::ranges::binary_search(punctuation, ids[i]))
      places.push_back(static_cast<std::int64_t>(i));
  }
  return places;
}

class Colbert final : public Interaction {
 public:
  explicit Colbert(const InteractionParts& parts)
      : shape_(parts.config.shape),
        own_(std::any_cast<const ColbertConfig&>(parts.config.own)),
        computing_(parts.computing),
        max_sim_{.computing = computing_, .threads = parts.threads, .width = own_.dim},
        linear_(parts.computing.of(parts.weights.tensor(colbert_linear))) {}

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, shape_.layers}, LastLayer::whole};
  }
  [[nodiscard]] TextEncoding documents() const override {
    return {{.group = TokenGroup::document}, {0, shape_.layers}, LastLayer::whole};
  }

  [[nodiscard]] Result<std::vector<QueryRows>> encode_queries(const BertEncoder& encoder,
                                                              const AttentionStage& stage,
                                                              at::Tensor embedded) const override {
    const auto states = encoder.run(stage, std::move(embedded), queries().layers);
    if (!states) return tl::unexpected(states.error());
    return std::vector<QueryRows>{{.rows = vectors_of(*states).to(scalar_type(computing_.dtype))}};
  }
  [[nodiscard]] ModelWork work_of_queries(const BertEncoder& encoder,
                                          const AttentionStage& stage) const override {
    ModelWork work = encoder.work(stage, queries().layers);
    add(work_of_keeping(stage.layout()), 1, work);
    return work;
  }
  [[nodiscard]] at::Tensor kept_of_documents(const at::Tensor& states,
                                             const PackedBatch& packed) const override {
    at::Tensor vectors = vectors_of(states);
    const std::vector<std::int64_t> marks = places_of(packed.ids, own_.punctuation);
    vectors.index_fill_(0, at::tensor(marks, at::kLong).to(vectors.device()), 0);
    return vectors.to(scalar_type(computing_.dtype));
  }
  [[nodiscard]] std::int64_t rows_kept(std::int64_t tokens) const override { return 1 + tokens; }
  [[nodiscard]] std::int64_t width() const override { return own_.dim; }
  [[nodiscard]] ModelWork work_of_keeping(const SequenceLayout& layout) const override {
    return max_sim_.work_of_vectors(layout.tokens(), shape_.hidden);
  }

  [[nodiscard]] Result<Interacted> interact(const BertEncoder& /*encoder*/,
                                            const EncodedQuery& query, const Candidates& candidates,
                                            const Show& show) const override {
    return max_sim_.of(query.front(), candidates, shape_.layers - 1, show);
  }
  [[nodiscard]] ModelWork work(const BertEncoder& /*encoder*/,
                               const InteractionSize& size) const override {
    return max_sim_.work(size);
  }
  [[nodiscard]] std::int64_t peak_bytes(const BertEncoder& /*encoder*/,
                                        const InteractionSize& size) const override {
    return max_sim_.peak_bytes(size);
  }

 private:
  /// [tokens, dim], float32.
  [[nodiscard]] at::Tensor vectors_of(const at::Tensor& states) const {
    return of_length_one(at::linear(states, linear_).to(at::kFloat));
  }

  ModelShape shape_;
  ColbertConfig own_;
  Computing computing_;
  MaxSim max_sim_;     // maxima start at 0
  at::Tensor linear_;  // [dim, hidden]
};

class ColbertFamily final : public LateFamily {
 protected:
  [[nodiscard]] const LateDescription& late() const override {
    return static_cast<const LateDescription&>(colbert_description());
  }
  [[nodiscard]] std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const override {
    return std::make_unique<Colbert>(parts);
  }
  /// Vectors of punctuation are stored as zeros.
  [[nodiscard]] std::string kept_in_words(const ModelConfig& config) const override {
    const auto& own = std::any_cast<const ColbertConfig&>(config.own);
    return fmt::format("punctuation {}", fmt::join(own.punctuation, " "));
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    const auto& own = std::any_cast<const ColbertConfig&>(config.own);
    const auto both = reference.encode_both(query, document);
    if (!both) return tl::unexpected(both.error());
    const at::Tensor weight = reference.tensor(colbert_linear);
    const at::Tensor of_query = of_length_one(at::linear(both->query, weight));
    at::Tensor of_document = of_length_one(at::linear(both->document, weight));
    for (std::size_t i = 0; i < document.size(); ++i) {
      const bool is_mark = std::ranges::find(own.punctuation, document[i]) != own.punctuation.end();
      if (is_mark) of_document[static_cast<std::int64_t>(i) + 1].zero_();
    }
    const at::Tensor maxima =
        std::get<0>(at::matmul(of_query, of_document.t()).max(1)).clamp_min(0);
    return ReferenceOutput{.score = maxima.sum().item<double>(), .state = doubles_of(maxima)};
  }
};

}  // namespace

const Family& colbert_family() {
  static const ColbertFamily family;
  return family;
}

}  // namespace attnscope
