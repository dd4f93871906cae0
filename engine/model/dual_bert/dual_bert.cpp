// SPDX-License-Identifier: Apache-2.0
//
// Dual-BERT: the dot product of the last [CLS] states of query and document; the pooler is unused.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include "engine/model/late/late_description.h"
#include "engine/model/late/late_model.h"

namespace attnscope {

const FamilyDescription& dual_bert_description();

namespace {

class DualBert final : public ClsInteraction {
 public:
  using ClsInteraction::ClsInteraction;

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, shape_.layers}, LastLayer::cls_alone};
  }

  /// The score is a product of the kept vectors without intermediate results: it is its own state.
  [[nodiscard]] Result<Interacted> interact(const BertEncoder& /*encoder*/,
                                            const EncodedQuery& query, const Candidates& candidates,
                                            const Show& /*show*/) const override {
    auto products = products_with(candidates, query.front(), computing_, threads_);
    if (!products) return tl::unexpected(products.error());
    return Interacted{.scores = products->squeeze(1), .states = *products};
  }
  [[nodiscard]] ModelWork work(const BertEncoder& /*encoder*/,
                               const InteractionSize& size) const override {
    return {.linear_flop = 2 * size.candidates() * static_cast<double>(shape_.hidden),
            .least_bytes = size.rows() * size.row_bytes};
  }
  [[nodiscard]] std::int64_t peak_bytes(const BertEncoder& /*encoder*/,
                                        const InteractionSize& size) const override {
    return static_cast<std::int64_t>(size.candidate_rows.size() * (sizeof(float) + 24));
  }
};

class DualBertFamily final : public LateFamily {
 protected:
  [[nodiscard]] const LateDescription& late() const override {
    return static_cast<const LateDescription&>(dual_bert_description());
  }
  [[nodiscard]] std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const override {
    return std::make_unique<DualBert>(parts);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                     const ModelConfig& /*config*/, TokenIds query,
                                                     TokenIds document) const override {
    const auto both = reference.encode_both(query, document);
    if (!both) return tl::unexpected(both.error());
    const double score = both->query[0].dot(both->document[0]).item<double>();
    return ReferenceOutput{.score = score, .state = {score}};
  }
};

}  // namespace

const Family& dual_bert_family() {
  static const DualBertFamily family;
  return family;
}

// PolyEncoder: codes compose the query H into Y = softmax(codes H^T) H; the candidate c, its [CLS],
// weights these with w = softmax(c Y^T), and the score is <w Y, c>, all unscaled. Because <w Y, c>
// = <w, Y c>, a single product Y c serves both.

const FamilyDescription& poly_encoder_description();

namespace {

class PolyEncoder final : public ClsInteraction {
 public:
  explicit PolyEncoder(const InteractionParts& parts)
      : ClsInteraction(parts), codes_(parts.computing.of(parts.weights.tensor(poly_codes))) {}

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, shape_.layers}, LastLayer::whole};
  }
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
                                                     const ModelConfig& /*config*/, TokenIds query,
                                                     TokenIds document) const override {
    const auto both = reference.encode_both(query, document);
    if (!both) return tl::unexpected(both.error());
    const at::Tensor& h = both->query;
    const at::Tensor c = both->document.narrow(0, 0, 1);
    const at::Tensor y = LateReference::attend(reference.tensor(poly_codes), h, h, 1, 1);
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
