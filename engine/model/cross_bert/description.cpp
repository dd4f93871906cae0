// SPDX-License-Identifier: Apache-2.0
//
// Cross-BERT as in the MixEncoder authors' code: BERT's cross-encoder on [CLS] q [SEP] [CLS] c
// [SEP].
#include "engine/model/bert/bert_description.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
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

}  // namespace attnscope
