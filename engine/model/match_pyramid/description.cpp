// SPDX-License-Identifier: Apache-2.0
//
// MatchPyramid (Pang et al., Text Matching as Image Recognition, AAAI 2016).
#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

class MatchPyramidDescription final : public WordsDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "match-pyramid"; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Five convolutions over the cosines of query and document words, each "
                        "pooled to fewer positions."}};
  }
  void append_own(const ModelConfig& /*config*/, std::vector<TensorSpec>& specs) const override {
    using namespace pyramid;
    for (std::size_t i = 0; i < pooled.size(); ++i) {
      append_convolution(convolution(i), {channels, i == 0 ? 1 : channels, extent, extent}, specs);
    }
    append_map_layers(features, specs);
  }
};

}  // namespace

const FamilyDescription& match_pyramid_description() {
  static const MatchPyramidDescription description;
  return description;
}

}  // namespace attnscope
