// SPDX-License-Identifier: Apache-2.0
//
// PACRR (Hui et al., PACRR: A Position-Aware Neural IR Model for Relevance Matching, EMNLP 2017)
// and CO-PACRR (Hui et al., Co-PACRR: A Context-Aware Neural IR Model for Ad-hoc Retrieval, WSDM
// 2018).
#include "engine/checkpoint/bert_body.h"
#include "engine/model/match_map/pacrr_description.h"
#include "engine/model/words/words_description.h"

namespace attnscope {

std::vector<NamedRow> PacrrDescription::named_rows() const {
  return {{.name = id_, .summary = summary_}};
}

/// A map has a fixed size.
void PacrrDescription::read_own(const JsonField& config, ModelConfig& model) const {
  const auto must_fit = [&](std::string_view name, std::int64_t words, std::int64_t most) {
    if (words <= most) return;
    needed(config, name)
        .wrong(fmt::format("is {}, and models of the family {} take {} words", words, id_, most));
  };
  must_fit("max_query_tokens", model.most_query_tokens, pacrr::query_words);
  must_fit("max_document_tokens", model.most_document_tokens, pacrr::document_words);
}

void PacrrDescription::append_own(const ModelConfig& /*config*/,
                                  std::vector<TensorSpec>& specs) const {
  for (std::int64_t words = 2; words <= pacrr::longest_gram; ++words) {
    append_convolution(pacrr::convolution(words), {pacrr::channels, 1, words, words}, specs);
  }
  append_map_layers(taken_.features(), specs);
}

const FamilyDescription& pacrr_description() {
  static const PacrrDescription description(
      "pacrr",
      "The best matches of each query word alone, and of it with the next one and two words.",
      pacrr::pacrr_features);
  return description;
}

const FamilyDescription& co_pacrr_description() {
  static const PacrrDescription description(
      "co-pacrr",
      "PACRR with the best matches up to each quarter of the document, and the similarity of the "
      "words around them to the query.",
      pacrr::co_pacrr_features);
  return description;
}

// MatchPyramid (Pang et al., Text Matching as Image Recognition, AAAI 2016).

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
