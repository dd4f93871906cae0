// SPDX-License-Identifier: Apache-2.0
//
// KNRM (Xiong et al., End-to-End Neural Ad-hoc Ranking with Kernel Pooling, SIGIR 2017) and
// CONV-KNRM (Dai et al., Convolutional Neural Networks for Soft-Matching N-Grams in Ad-hoc Search,
// WSDM 2018).
#include "engine/checkpoint/bert_body.h"
#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

class KnrmDescription final : public WordsDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "knrm"; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Word vectors without context; the score is computed from logarithms of "
                        "kernel sums over the document."}};
  }
  void append_own(const ModelConfig& /*config*/, std::vector<TensorSpec>& specs) const override {
    append_tensor(kernel_weights, {1, 11}, 0, specs);
  }
};

class ConvKnrmDescription final : public WordsDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "conv-knrm"; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "N-grams of one to three words become vectors; each length of the query is "
                        "compared with each length of the document as KNRM compares words."}};
  }
  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override {
    using namespace ngrams;
    for (std::int64_t words = 1; words <= longest_gram; ++words) {
      append_tensor(convolution(words) + ".weight", {gram_width, config.shape.hidden, words}, 0,
                    specs);
      append_tensor(convolution(words) + ".bias", {gram_width}, 0, specs);
    }
    append_tensor(kernel_weights, {1, longest_gram * longest_gram * 11}, 0, specs);
  }
};

}  // namespace

const FamilyDescription& knrm_description() {
  static const KnrmDescription description;
  return description;
}

const FamilyDescription& conv_knrm_description() {
  static const ConvKnrmDescription description;
  return description;
}

}  // namespace attnscope
