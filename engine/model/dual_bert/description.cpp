// SPDX-License-Identifier: Apache-2.0
//
// Dual-BERT (Sentence-BERT, Reimers and Gurevych, EMNLP 2019, as implemented for the MixEncoder
// paper): no parameters in addition to BERT's.
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

}  // namespace attnscope
