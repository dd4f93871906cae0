// SPDX-License-Identifier: Apache-2.0
//
// KNRM: kernels over the cosines of word vectors, summed over the document; the first kernel counts
// exact matches of the query's words (Xiong et al., SIGIR 2017, Sec. 3).
#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "engine/model/bert/reference.h"
#include "engine/model/words/pooled_documents.h"
#include "engine/model/words/words_family.h"

namespace attnscope {

const FamilyDescription& knrm_description();

namespace {

/// So narrow that the kernel is 0 for every other word.
constexpr float exact_match_sigma = 1e-4F;

/// Concatenated words of texts, and the range of each text.
struct WordsInRow {
  explicit WordsInRow(std::span<const TokenIds> from) {
    texts.reserve(from.size());
    for (const TokenIds text : from) {
      const auto first = static_cast<std::int64_t>(ids.size());
      texts.push_back({first, first + words_in(text)});
      ids.insert(ids.end(), text.begin(), text.end());
    }
  }
  std::vector<std::int64_t> ids;
  std::vector<TokenRange> texts;
};

class KnrmModel final : public WordsModel {
 public:
  /// Normalizes the word vectors to unit length once.
  KnrmModel(std::shared_ptr<const ModelWeights> of, const ModelConfig& config,
            const ModelVariant& variant)
      : WordsModel(std::move(of), config, variant),
        table_(weights().tensor(word_embeddings).clone()),
        kernels_(weights().tensor(kernel_weights)) {
    to_unit_length(table_);
  }

 protected:
  [[nodiscard]] Result<GroupOutput> score_words(TokenIds query, std::span<const TokenIds> documents,
                                                const Show& show) override {
    const WordsInRow words(documents);
    const at::Tensor rows = table_.index_select(
        0, at::tensor(std::vector<std::int64_t>(query.begin(), query.end()), at::kLong));
    const auto sums = pooled_documents({.query = {rows.const_data_ptr<float>(), hidden()},
                                        .query_rows = words_in(query),
                                        .tokens = {table_.const_data_ptr<float>(), hidden()},
                                        .token_rows = table_.size(0),
                                        .width = hidden(),
                                        .numbers = words.ids,
                                        .documents = words.texts,
                                        .query_normalised = true,
                                        .tokens_normalised = true,
                                        .first_sigma = exact_match_sigma},
                                       threads());
    if (!sums) return tl::unexpected(sums.error());
    GroupOutput output{.scores = {}, .states = log_sums(*sums, words_in(query))};
    output.scores = weighted(output.states, kernels_);
    if (show) show({0, "sums", {words_in(query), cpu::pooling_kernels}, *sums});
    return output;
  }

  [[nodiscard]] ModelWork work_of(const WordCounts& words) const override {
    return work_of_pooling(words, hidden());
  }
  [[nodiscard]] std::int64_t peak_bytes(const WordCounts& words) const override {
    return bytes_of_pooling(words, hidden(), threads()) +
           static_cast<std::int64_t>(words.words()) *
               static_cast<std::int64_t>(sizeof(std::int64_t)) +
           words.query * hidden() * static_cast<std::int64_t>(sizeof(float));
  }

 private:
  at::Tensor table_;  // [vocabulary, hidden], unit-length rows
  at::Tensor kernels_;
};

class KnrmFamily final : public WordsFamily {
 public:
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return {kernel_pooling};
  }

 protected:
  [[nodiscard]] const WordsDescription& words() const override {
    return static_cast<const WordsDescription&>(knrm_description());
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view /*implementation*/) const override {
    return std::make_unique<KnrmModel>(weights, config, variant);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                     const ModelConfig& /*config*/, TokenIds query,
                                                     TokenIds document) const override {
    const at::Tensor cosines =
        WordsReference::cosines(reference.embed(query), reference.embed(document));
    const at::Tensor state = WordsReference::log_sums(cosines, exact_match_sigma);
    const at::Tensor score = (reference.tensor(kernel_weights)[0] * state).sum();
    return ReferenceOutput{.score = score.item<double>(), .state = doubles_of(state)};
  }
};

}  // namespace

const Family& knrm_family() {
  static const KnrmFamily family;
  return family;
}

}  // namespace attnscope
