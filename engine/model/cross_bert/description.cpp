// SPDX-License-Identifier: Apache-2.0
//
// Cross-BERT as the MixEncoder paper's authors compute it: BERT's cross-encoder on
// [CLS] q [SEP] [CLS] c [SEP].
#include "engine/checkpoint/bert_body.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
namespace {

class CrossBertDescription final : public LateDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "cross-bert"; }
  [[nodiscard]] ShownTokens shows(const ModelConfig& /*config*/,
                                  const ModelOptions& /*options*/) const override {
    return {.document_has_cls = true};
  }

 protected:
  [[nodiscard]] std::string_view body_prefix() const override { return "bert_model.bert."; }
  [[nodiscard]] bool uses_pooler() const override { return true; }
  [[nodiscard]] std::vector<LateRow> late_rows() const override {
    return {{.name = id(),
             .summary = "Query and document go through all layers together, the document with a "
                        "[CLS] of its own; nothing is kept."}};
  }
  [[nodiscard]] std::vector<LateOption> late_options() const override {
    return {{cls_only_last_layer, "Its last layer computes what [CLS] needs and nothing else.",
             "last layer"}};
  }
  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override {
    append_linear("classifier", "bert_model.classifier", 1, config.shape.hidden, specs);
  }
};

}  // namespace

const FamilyDescription& cross_bert_description() {
  static const CrossBertDescription description;
  return description;
}

}  // namespace attnscope
