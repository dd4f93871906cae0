// SPDX-License-Identifier: Apache-2.0
//
// Dual-BERT (Sentence-BERT, Reimers and Gurevych, EMNLP 2019, as implemented for the MixEncoder
// paper): no parameters in addition to BERT's.
#include "engine/checkpoint/bert_body.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
namespace {

class DualBertDescription final : public LateDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "dual-bert"; }
  [[nodiscard]] Kept keeps() const override { return Kept::vectors; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Query and document are encoded separately; the score is the product of "
                        "their [CLS] vectors. One vector is kept per document."}};
  }
};

}  // namespace

const FamilyDescription& dual_bert_description() {
  static const DualBertDescription description;
  return description;
}

// PolyEncoder (Humeau et al., ICLR 2020) as implemented for the MixEncoder paper.

namespace {

class PolyEncoderDescription final : public LateDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "poly-encoder"; }
  [[nodiscard]] Kept keeps() const override { return Kept::vectors; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = "poly-encoder-64",
             .summary = "The query is composed into 64 vectors, which a document's vector weights; "
                        "one vector is kept per document.",
             .options = {"codes-64"}},
            {.name = "poly-encoder-360",
             .summary = "The same with 360 query vectors.",
             .options = {"codes-360"}}};
  }
  [[nodiscard]] std::vector<RowOption> late_options() const override {
    return {{"codes-64", "The query is composed into 64 vectors.", "codes", true},
            {"codes-360", "The query is composed into 360 vectors.", "codes", true}};
  }
  [[nodiscard]] std::any own_of(const ModelShape& /*shape*/) const override { return PolyConfig{}; }
  void read_own(const JsonField& config, ModelConfig& model) const override {
    model.own = PolyConfig{.codes = needed(config, "codes").whole(1, most_width)};
  }
  [[nodiscard]] Status apply(std::string_view option, const ModelShape& /*shape*/,
                             std::any& own) const override {
    if (const auto codes = number_after("codes-", option))
      std::any_cast<PolyConfig&>(own).codes = *codes;
    return {};
  }
  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override {
    append_matrix(poly_codes, std::any_cast<const PolyConfig&>(config.own).codes,
                  config.shape.hidden, specs);
  }
};

}  // namespace

const FamilyDescription& poly_encoder_description() {
  static const PolyEncoderDescription description;
  return description;
}

}  // namespace attnscope
