// SPDX-License-Identifier: Apache-2.0
//
// Deformer (Cao et al., ACL 2020) as implemented for the MixEncoder paper.
#include <algorithm>
#include <array>

#include "engine/checkpoint/bert_body.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
namespace {

constexpr std::array top_layer_options{
    "top-layers-1", "top-layers-2", "top-layers-3", "top-layers-4",  "top-layers-5", "top-layers-6",
    "top-layers-7", "top-layers-8", "top-layers-9", "top-layers-10", "top-layers-11"};

class DeformerDescription final : public PooledDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "deformer"; }
  [[nodiscard]] Kept keeps() const override { return Kept::token_states; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "The lower layers encode query and document separately, the last three "
                        "encode them together; all states of a document are kept."}};
  }
  [[nodiscard]] std::vector<RowOption> late_options() const override {
    std::vector<RowOption> options;
    options.reserve(top_layer_options.size());
    for (const char* name : top_layer_options) {
      options.push_back(
          {name, "Number of last layers that encode query and document together.", "layers"});
    }
    return options;
  }
  [[nodiscard]] std::any own_of(const ModelShape& shape) const override {
    return DeformerConfig{.top_layers = std::min(DeformerConfig{}.top_layers, shape.layers - 1)};
  }
  void read_own(const JsonField& config, ModelConfig& model) const override {
    if (const auto top = config.present("top_layers"))
      model.own = DeformerConfig{.top_layers = top->whole(1, model.shape.layers - 1)};
  }
  [[nodiscard]] Status apply(std::string_view option, const ModelShape& shape,
                             std::any& own) const override {
    const auto layers = number_after("top-layers-", option);
    if (!layers) return {};
    if (*layers >= shape.layers) {
      return fail("leaves none of the {} layers to encode query and document separately",
                  shape.layers);
    }
    std::any_cast<DeformerConfig&>(own).top_layers = *layers;
    return {};
  }
};

}  // namespace

const FamilyDescription& deformer_description() {
  static const DeformerDescription description;
  return description;
}

// Cross-BERT as in the MixEncoder authors' code: BERT's cross-encoder on [CLS] q [SEP] [CLS] c
// [SEP].

namespace {

class CrossBertDescription final : public PooledDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "cross-bert"; }
  [[nodiscard]] std::int64_t tokens_of_its_own() const override { return 1; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Query and document pass through all layers together, the document with "
                        "its own [CLS]; nothing is kept."}};
  }
  [[nodiscard]] std::vector<RowOption> late_options() const override {
    return {{cls_only_last_layer, "The last layer computes only what [CLS] needs.", "last layer"}};
  }
};

}  // namespace

const FamilyDescription& cross_bert_description() {
  static const CrossBertDescription description;
  return description;
}

// VIRT-like: modelled on VIRT (Li et al., EMNLP 2022), which according to the MixEncoder paper
// performs cross-attention in the last layer. The formulas used in that comparison are not
// published: this implementation is not VIRT and must not be reported as VIRT. Tensor names are
// ours.

namespace {

class VirtLikeDescription final : public LateDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "virt-like"; }
  [[nodiscard]] Kept keeps() const override { return Kept::token_states; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary =
                 "Modelled on VIRT, whose formulas are not published: the last states of query "
                 "and document attend to each other; all states of a document are kept."}};
  }
  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override {
    const std::int64_t hidden = config.shape.hidden;
    append_linear("virt.hidden", "virt.hidden", hidden, 4 * hidden, specs);
    append_linear("virt.score", "virt.score", 1, hidden, specs);
  }
};

}  // namespace

const FamilyDescription& virt_like_description() {
  static const VirtLikeDescription description;
  return description;
}

}  // namespace attnscope
