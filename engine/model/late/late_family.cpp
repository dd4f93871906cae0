// SPDX-License-Identifier: Apache-2.0
#include "engine/model/late/late_family.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <utility>
#include <vector>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/model_weights.h"

namespace attnscope {
at::Tensor LateReference::tensor(const std::string& name) const {
  return weights_.tensor(name).to(scalar_type(variant_.dtype)).to(at::kDouble);
}

at::Tensor LateReference::linear(const std::string& name, const at::Tensor& x) const {
  return at::linear(x, tensor(name + ".weight"), tensor(name + ".bias"));
}

at::Tensor LateReference::norm(const std::string& name, const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(1)}, tensor(name + ".weight"), tensor(name + ".bias"),
                        shape().norm_epsilon);
}

Result<at::Tensor> LateReference::encode(TokenIds text, const TextForm& form, std::int64_t end,
                                         const std::string& learned) const {
  const auto packed = pack_texts({&text, 1}, form, cls_, shape());
  if (!packed) return tl::unexpected(packed.error());
  const ReferenceEncoder encoder(weights_, variant_, packed->layout);
  return encoder.run(encoder.embed(*packed, learned), 0, end);
}

Result<LateReference::Both> LateReference::encode_both(TokenIds query, TokenIds document) const {
  auto q = encode(query, {.group = TokenGroup::query}, shape().layers);
  if (!q) return tl::unexpected(q.error());
  auto d = encode(document, {.group = TokenGroup::document}, shape().layers);
  if (!d) return tl::unexpected(d.error());
  return Both{std::move(*q), std::move(*d)};
}

at::Tensor LateReference::run_from(const SequenceLayout& layout, const at::Tensor& x,
                                   std::int64_t first) const {
  return ReferenceEncoder(weights_, variant_, layout).run(x, first, shape().layers);
}

at::Tensor LateReference::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 std::int64_t heads, double scale) {
  const std::int64_t dim = q.size(1) / heads;
  std::vector<at::Tensor> outputs;
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto of_head = [&](const at::Tensor& x) { return x.narrow(1, h * dim, dim); };
    const at::Tensor weights = at::softmax(at::matmul(of_head(q), of_head(k).t()) * scale, 1);
    outputs.push_back(at::matmul(weights, of_head(v)));
  }
  return at::cat(outputs, 1);
}

namespace {

/// The variant without the family's own options, which its encoder does not know.
ModelVariant encoder_variant(ModelVariant variant) {
  variant.options.clear();
  return variant;
}

/// BERT's encoder and a family's interaction.
class BertBiEncoder final : public BiEncoder {
 public:
  BertBiEncoder(const ModelWeights& weights, const ModelVariant& variant,
                const Implementation& implementation, const Computing& computing,
                std::unique_ptr<Interaction> interaction, const std::string& learned)
      : shape_(weights.shape()),
        interaction_(std::move(interaction)),
        queries_(interaction_->queries()),
        documents_(interaction_->documents()),
        encoder_(weights, variant, implementation, computing,
                 queries_.last == LastLayer::cls_alone || documents_.last == LastLayer::cls_alone,
                 learned) {}

  std::int64_t tokens_before_query() const override { return queries_.form.first_tokens(); }
  std::int64_t tokens_before_document() const override { return documents_.form.first_tokens(); }

  Result<std::vector<EncodedQuery>> encode_queries(Texts queries, std::int32_t cls) const override {
    const auto packed = pack_texts(queries, queries_.form, cls, shape_);
    if (!packed) return tl::unexpected(packed.error());
    const auto stage = encoder_.stage(packed->layout, queries_.last);
    if (!stage) return tl::unexpected(stage.error());
    const auto rows = interaction_->encode_queries(encoder_, **stage, encoder_.embed(*packed));
    if (!rows) return tl::unexpected(rows.error());
    std::vector<EncodedQuery> encoded;
    for (std::int64_t i = 0; i < packed->layout.item_count(); ++i)
      encoded.push_back(query_of(*rows, packed->layout, i));
    return encoded;
  }

  Result<Cost> cost_of_queries(Texts queries) const override {
    const auto stage = stage_of(queries, queries_);
    if (!stage) return tl::unexpected(stage.error());
    return Cost{interaction_->work_of_queries(encoder_, **stage), encoder_.peak_bytes(**stage)};
  }

  Result<at::Tensor> encode_documents(Texts documents, std::int32_t cls) const override {
    const auto packed = pack_texts(documents, documents_.form, cls, shape_);
    if (!packed) return tl::unexpected(packed.error());
    const auto stage = encoder_.stage(packed->layout, documents_.last);
    if (!stage) return tl::unexpected(stage.error());
    const auto states = encoder_.run(**stage, encoder_.embed(*packed), documents_.layers);
    if (!states) return tl::unexpected(states.error());
    return interaction_->kept_of_documents(*states, *packed);
  }

  Result<Cost> cost_of_documents(Texts documents) const override {
    const auto stage = stage_of(documents, documents_);
    if (!stage) return tl::unexpected(stage.error());
    Cost cost{encoder_.work(**stage, documents_.layers), encoder_.peak_bytes(**stage)};
    add(interaction_->work_of_keeping((*stage)->layout()), 1, cost.work);
    return cost;
  }

  std::int64_t rows_kept(std::int64_t tokens) const override {
    return interaction_->rows_kept(tokens);
  }
  std::int64_t width() const override { return interaction_->width(); }

  Result<Interacted> interact(const EncodedQuery& query, const Candidates& candidates,
                              const Show& show) const override {
    return interaction_->interact(encoder_, query, candidates, show);
  }
  ModelWork work(const InteractionSize& size) const override {
    return interaction_->work(encoder_, size);
  }
  std::int64_t peak_bytes(const InteractionSize& size) const override {
    return interaction_->peak_bytes(encoder_, size);
  }

 private:
  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage_of(
      Texts texts, const TextEncoding& encoding) const {
    auto layout = layout_of_texts(texts, encoding.form);
    if (!layout) return tl::unexpected(layout.error());
    return encoder_.stage(std::move(*layout), encoding.last);
  }

  static EncodedQuery query_of(const std::vector<QueryRows>& queries, const SequenceLayout& layout,
                               std::int64_t number) {
    EncodedQuery query;
    const TokenRange tokens = layout.item_tokens(number);
    for (const QueryRows& part : queries) {
      query.push_back(part.of_tokens ? part.rows.narrow(0, tokens.begin, tokens.size())
                                     : part.rows.narrow(0, number, 1));
    }
    return query;
  }

  ModelShape shape_;
  std::unique_ptr<Interaction> interaction_;
  TextEncoding queries_, documents_;
  BertEncoder encoder_;
};

}  // namespace

Result<std::vector<QueryRows>> Interaction::encode_queries(const BertEncoder& encoder,
                                                           const AttentionStage& stage,
                                                           at::Tensor embedded) const {
  auto states = encoder.run(stage, std::move(embedded), queries().layers);
  if (!states) return tl::unexpected(states.error());
  return std::vector<QueryRows>{
      {.rows = std::move(*states), .of_tokens = queries().last == LastLayer::whole}};
}

ModelWork Interaction::work_of_queries(const BertEncoder& encoder,
                                       const AttentionStage& stage) const {
  return encoder.work(stage, queries().layers);
}

ModelWork Interaction::work_of_keeping(const SequenceLayout& /*layout*/) const {
  return {};
}

std::vector<std::string_view> LateFamily::implementations() const {
  return bert_implementations();
}

Status LateFamily::supports(const ModelConfig& config, const ModelVariant& variant,
                            std::string_view implementation) const {
  const auto made = late().configured(config, variant.options);
  if (!made) return tl::unexpected(made.error());
  if (Status able = fits(*made); !able) return able;
  return supports_attention(encoder_variant(variant), config.shape, implementation);
}

Result<std::unique_ptr<Model>> LateFamily::make(const std::shared_ptr<const ModelWeights>& weights,
                                                const ModelVariant& variant,
                                                std::string_view implementation) const {
  const c10::InferenceMode no_graph;
  const auto found = implementation_named(implementation);
  if (!found) return tl::unexpected(found.error());
  const auto config = late().configured(weights->config(), variant.options);
  if (!config) return tl::unexpected(config.error());
  if (Status able = fits(*config); !able) return tl::unexpected(able.error());
  if (Status there = has_tensors(*weights, *config); !there) return tl::unexpected(there.error());
  use_torch_threads(variant.threads);
  const Computing computing = computing_of(variant, config->shape);
  std::string encoding = encoder_in_words(variant, config->shape);
  if (const std::string kept = kept_in_words(*config); !kept.empty()) encoding += "; " + kept;
  auto encoder = std::make_unique<BertBiEncoder>(
      *weights, encoder_variant(variant), **found, computing,
      interaction({*weights, *config, computing, variant.threads}), learned(*config));
  return make_late_model(weights, computing, variant.threads, std::move(encoder),
                         {.family = std::string(late().id()),
                          .weights = 0,
                          .dtype = variant.dtype,
                          .encoding = std::move(encoding)});
}

Result<ReferenceOutput> LateFamily::reference(const ModelWeights& weights,
                                              const ModelVariant& variant,
                                              const PairBatch::Item& item, std::int32_t cls) const {
  const c10::InferenceMode no_graph;
  use_torch_threads(variant.threads);
  const auto config = late().configured(weights.config(), variant.options);
  if (!config) return tl::unexpected(config.error());
  if (Status able = fits(*config); !able) return tl::unexpected(able.error());
  const ModelVariant plain = encoder_variant(variant);
  return reference_of(LateReference(weights, plain, cls), *config, item.query, item.document);
}

double LateFamily::error_bound(DType dtype, const ModelShape& shape) const {
  // A score is a sum over the width of products of two states, each with an error.
  return bert_error_bound(dtype, shape) * std::sqrt(static_cast<double>(shape.hidden));
}

Result<std::shared_ptr<const ModelWeights>> LateFamily::extended_to(
    const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const {
  return with_positions(*weights, positions);
}

Status LateFamily::fits(const ModelConfig& /*config*/) const {
  return {};
}

std::string LateFamily::learned(const ModelConfig& /*config*/) const {
  return {};
}

std::string LateFamily::kept_in_words(const ModelConfig& /*config*/) const {
  return {};
}

}  // namespace attnscope
