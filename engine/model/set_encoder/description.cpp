// SPDX-License-Identifier: Apache-2.0
//
// Lightning IR's Set-Encoders (Schlatt et al., ECIR 2025): a mono cross-encoder whose documents
// attend to [CLS], or to the following interaction token, of the query's other documents. In
// training, missing documents up to a depth are sampled randomly; here the set is the given
// documents.
#include "engine/checkpoint/bert_body.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/bert_like.h"
#include "engine/model/lightning_ir/mono_config.h"

namespace attnscope {
namespace {

class SetEncoderDescription final : public BertLikeDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "set-encoder"; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override {
    return {"set-encoder"};
  }
  [[nodiscard]] bool is_listwise() const override { return true; }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view /*model_type*/) const override {
    ModelConfig model = read_mono_config(config);
    std::any_cast<BertConfig&>(model.own).interaction_token =
        read_flag(config, "add_extra_token", false);
    return model;
  }
  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& config,
                                                 const AttentionPattern& pattern,
                                                 ModelOptions requested) const override {
    auto options = BertLikeDescription::options_for(config, pattern, std::move(requested));
    if (!options) return options;
    options->emplace(sees_other_documents);
    if (std::any_cast<const BertConfig&>(config.own).interaction_token)
      options->emplace(by_interaction_token);
    return options;
  }
};

}  // namespace

const FamilyDescription& set_encoder_description() {
  static const SetEncoderDescription description;
  return description;
}

}  // namespace attnscope
