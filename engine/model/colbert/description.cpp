// SPDX-License-Identifier: Apache-2.0
//
// ColBERT (Khattab and Zaharia, SIGIR 2020) as implemented for the MixEncoder paper.
#include <algorithm>
#include <array>

#include "engine/checkpoint/bert_body.h"
#include "engine/model/colbert/colbert_config.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
namespace {

/// ASCII's 32 punctuation characters in bert-base-uncased's vocabulary, where single characters are
/// in the order of their codes, with digits and letters between.
std::vector<std::int64_t> punctuation_of_bert() {
  struct IdRange {
    std::int64_t first, last;
  };
  constexpr std::array ranges{IdRange{999, 1013}, IdRange{1024, 1036}, IdRange{1063, 1066}};
  std::vector<std::int64_t> ids;
  for (const IdRange& range : ranges)
    for (std::int64_t id = range.first; id <= range.last; ++id) ids.push_back(id);
  return ids;
}

class ColbertDescription final : public LateDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "colbert"; }
  [[nodiscard]] Kept keeps() const override { return Kept::token_vectors; }
  [[nodiscard]] ShownTokens shows(const ModelConfig& /*config*/,
                                  const ModelOptions& /*options*/) const override {
    return shown_matches();
  }

 protected:
  [[nodiscard]] std::string_view body_prefix() const override { return "bert."; }
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Each query token is matched with the most similar document token; 128 "
                        "numbers are kept per token."}};
  }
  [[nodiscard]] std::any own_of(const ModelShape& /*shape*/) const override {
    return ColbertConfig{.punctuation = punctuation_of_bert()};
  }
  void read_own(const JsonField& config, ModelConfig& model) const override {
    ColbertConfig own{.punctuation = punctuation_of_bert()};
    if (const auto dim = config.present("output_dim")) own.dim = dim->whole(1, most_width);
    if (const auto list = config.present("punctuation_ids")) {
      own.punctuation.clear();
      for (const JsonField& field : list->elements())
        own.punctuation.push_back(field.whole(0, model.shape.vocabulary - 1));
      std::ranges::sort(own.punctuation);
    }
    model.own = std::move(own);
  }
  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override {
    append_matrix(colbert_linear, std::any_cast<const ColbertConfig&>(config.own).dim,
                  config.shape.hidden, specs);
  }
};

}  // namespace

const FamilyDescription& colbert_description() {
  static const ColbertDescription description;
  return description;
}

}  // namespace attnscope
