// SPDX-License-Identifier: Apache-2.0
//
// VIRT-like: modelled on VIRT (Li et al., EMNLP 2022), which according to the MixEncoder paper
// performs cross-attention in the last layer. The formulas used in that comparison are not
// published: this implementation is not VIRT and must not be reported as VIRT. Tensor names are
// ours.
#include "engine/checkpoint/bert_body.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
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
