// SPDX-License-Identifier: Apache-2.0
//
// RoBERTa (Liu et al., 2019) and XLM-RoBERTa (Conneau et al., ACL 2020) as sequence classifiers:
// BERT's layers, positions that begin after that of padding, one token type, a two-layer head.
#include "engine/checkpoint/bert_body.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/bert_like.h"

namespace attnscope {
namespace {

class RobertaDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "roberta"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override {
    return {"roberta", "xlm-roberta"};
  }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view model_type) const override {
    return read_classifier(config, "roberta", model_type == "roberta" ? roberta_base : bert_base,
                           {.pooler = "classifier.dense", .classifier = "classifier.out_proj"},
                           &skip_padding_positions);
  }
};

}  // namespace

const FamilyDescription& roberta_description() {
  static const RobertaDescription description;
  return description;
}

}  // namespace attnscope
