// SPDX-License-Identifier: Apache-2.0
//
// ELECTRA (Clark et al., ICLR 2020) as a sequence classifier: BERT's body, embeddings that may be
// narrower than the layers and are then projected to their width, and a head with gelu.
#include "engine/checkpoint/bert_body.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/bert_like.h"

namespace attnscope {
namespace {

class ElectraDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "electra"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override { return {"electra"}; }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view /*model_type*/) const override {
    return read_classifier(config, "electra", electra_small,
                           {.pooler = "classifier.dense",
                            .activation = HeadActivation::gelu,
                            .classifier = "classifier.out_proj"},
                           &read_embedding_width);
  }
};

}  // namespace

const FamilyDescription& electra_description() {
  static const ElectraDescription description;
  return description;
}

}  // namespace attnscope
