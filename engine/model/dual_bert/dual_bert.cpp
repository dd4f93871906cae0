// SPDX-License-Identifier: Apache-2.0
//
// Dual-BERT: the dot product of the last [CLS] states of query and document; the pooler is unused.
#include <ATen/TensorOperators.h>

#include "engine/model/late/late_family.h"

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

}  // namespace attnscope
