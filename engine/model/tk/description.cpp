// SPDX-License-Identifier: Apache-2.0
//
// TK (Hofstaetter et al., Interpretable and Time-Budget-Constrained Contextualization for
// Re-Ranking, ECAI 2020) with PyTorch's transformer layers, as implemented for the TKL paper.
#include "engine/model/tk/tk_names.h"
#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

class TkDescription final : public WordsDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "tk"; }
  [[nodiscard]] Kept keeps() const override { return Kept::token_vectors; }
  [[nodiscard]] std::optional<ShownRegions> regions(
      const ModelConfig& /*config*/, const ModelOptions& /*options*/) const override {
    return ShownRegions{
        .note =
            "TK sums over the whole document: a region's score is the score of its words alone."};
  }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Words attend to their whole text; the score is computed from logarithms "
                        "and means of kernel sums over the document."}};
  }
  [[nodiscard]] bool has_layers() const override { return true; }
  void append_own(const ModelConfig& /*config*/, std::vector<TensorSpec>& specs) const override {
    append_tensor(tk_names::scale, {1}, 0.01, specs);
    append_tensor(tk_names::mixer, {1, 1, 1}, 0.5, specs);
    append_tensor(tk_names::logarithms, {1, 11}, 0, specs);
    append_tensor(tk_names::means, {1, 11}, 0, specs);
    append_tensor(tk_names::both, {1, 2}, 0, specs);
  }
};

}  // namespace

const FamilyDescription& tk_description() {
  static const TkDescription description;
  return description;
}

}  // namespace attnscope
