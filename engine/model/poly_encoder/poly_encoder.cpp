// SPDX-License-Identifier: Apache-2.0
//
// PolyEncoder: codes compose the query H into Y = softmax(codes H^T) H, the candidate c, its [CLS],
// weighs these by w = softmax(c Y^T), and the score is <w Y, c>, all unscaled. Because <w Y, c> =
// <w, Y c>, the one product Y c serves both.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include "engine/model/late/late_model.h"
#include "engine/model/late/late_reference.h"
#include "engine/model/poly_encoder/poly_config.h"

namespace attnscope {

const FamilyDescription& poly_encoder_description();

namespace {

class PolyEncoder final : public Interaction {
 public:
  explicit PolyEncoder(const InteractionParts& parts)
      : shape_(parts.config.shape),
        computing_(parts.computing),
        threads_(parts.threads),
        codes_(parts.computing.of(parts.weights.tensor(poly_codes))) {}

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, shape_.layers}, LastLayer::whole};
  }
  [[nodiscard]] TextEncoding documents() const override {
    return {{.group = TokenGroup::document}, {0, shape_.layers}, LastLayer::cls_alone};
  }
  [[nodiscard]] at::Tensor kept_of_documents(const at::Tensor& states,
                                             const PackedBatch& /*packed*/) const override {
    return states;
  }
  [[nodiscard]] std::int64_t rows_kept(std::int64_t /*tokens*/) const override { return 1; }
  [[nodiscard]] std::int64_t width() const override { return shape_.hidden; }

  [[nodiscard]] Result<Interacted> interact(const BertEncoder& /*encoder*/,
                                            const EncodedQuery& query, const Candidates& candidates,
                                            const Show& /*show*/) const override {
    const at::Tensor states = query.front().to(at::kFloat);
    const at::Tensor weights = at::softmax(at::matmul(codes_.to(at::kFloat), states.t()), 1);
    const auto products =
        products_with(candidates, at::matmul(weights, states), computing_, threads_);
    if (!products) return tl::unexpected(products.error());
    const at::Tensor scores = (at::softmax(*products, 1) * *products).sum(1);
    return Interacted{.scores = scores, .states = scores.unsqueeze(1)};
  }
  [[nodiscard]] ModelWork work(const BertEncoder& /*encoder*/,
                               const InteractionSize& size) const override {
    const auto hidden = static_cast<double>(shape_.hidden);
    const auto codes = static_cast<double>(codes_.size(0));
    const auto tokens = static_cast<double>(size.query_tokens);
    return {.linear_flop = 2 * size.candidates() * codes * hidden,
            .attention_flop = 4 * codes * tokens * hidden,
            .executed_attention_flop = 4 * codes * tokens * hidden,
            .exponentials = codes * (tokens + size.candidates()),
            .least_bytes = size.rows() * size.row_bytes};
  }
  [[nodiscard]] std::int64_t peak_bytes(const BertEncoder& /*encoder*/,
                                        const InteractionSize& size) const override {
    const auto candidates = static_cast<std::int64_t>(size.candidate_rows.size());
    return 4 * codes_.size(0) * (3 * candidates + 2 * shape_.hidden) + 24 * candidates;
  }

 private:
  ModelShape shape_;
  Computing computing_;
  int threads_;
  at::Tensor codes_;  // [codes, hidden]
};

class PolyEncoderFamily final : public LateFamily {
 protected:
  [[nodiscard]] const LateDescription& late() const override {
    return static_cast<const LateDescription&>(poly_encoder_description());
  }
  [[nodiscard]] std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const override {
    return std::make_unique<PolyEncoder>(parts);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    const auto h = reference.encode(query, {.group = TokenGroup::query}, config.shape.layers);
    if (!h) return tl::unexpected(h.error());
    const auto states =
        reference.encode(document, {.group = TokenGroup::document}, config.shape.layers);
    if (!states) return tl::unexpected(states.error());
    const at::Tensor c = states->narrow(0, 0, 1);
    const at::Tensor y = LateReference::attend(reference.tensor(poly_codes), *h, *h, 1, 1);
    const at::Tensor composed = LateReference::attend(c, y, y, 1, 1);
    const double score = composed[0].dot(c[0]).item<double>();
    return ReferenceOutput{.score = score, .state = {score}};
  }
};

}  // namespace

const Family& poly_encoder_family() {
  static const PolyEncoderFamily family;
  return family;
}

}  // namespace attnscope
