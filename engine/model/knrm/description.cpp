// SPDX-License-Identifier: Apache-2.0
//
// KNRM (Xiong et al., End-to-End Neural Ad-hoc Ranking with Kernel Pooling, SIGIR 2017).
#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

class KnrmDescription final : public WordsDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "knrm"; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Word vectors without context; logarithms of kernels' sums over the "
                        "document make the score."}};
  }
  void append_own(const ModelConfig& /*config*/, std::vector<TensorSpec>& specs) const override {
    append_tensor(kernel_weights, {1, 11}, 0, specs);
  }
};

}  // namespace

const FamilyDescription& knrm_description() {
  static const KnrmDescription description;
  return description;
}

}  // namespace attnscope
