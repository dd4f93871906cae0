#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Re-rankers over word vectors: the common path from a batch to its scores. A family adds the
// computation for one query and its documents. Uses LibTorch.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/model/query_groups.h"
#include "engine/model/words/words_description.h"

namespace attnscope {

/// Numbers of words of one query and its documents.
struct WordCounts {
  std::int64_t query = 0;
  std::vector<std::int64_t> documents{};
  bool encoded = false;                // the documents come from a cache
  [[nodiscard]] double words() const;  // of all documents
};

class WordsModel : public Model {
 public:
  /// `config` has the options applied.
  WordsModel(std::shared_ptr<const ModelWeights> weights, ModelConfig config,
             const ModelVariant& variant);

  [[nodiscard]] Status supports(const PairBatch& batch) const final;
  [[nodiscard]] Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const final;
  [[nodiscard]] Result<ModelWork> work(const PairBatch& batch) const final;
  [[nodiscard]] Result<ModelOutput> score(const PairBatch& batch, const Show& show) final;

 protected:
  /// Scores one query's documents and returns the states as well; with one document, `show`
  /// receives intermediate results. Texts have no padding.
  [[nodiscard]] virtual Result<GroupOutput> score_words(TokenIds query,
                                                        std::span<const TokenIds> documents,
                                                        const Show& show) = 0;
  /// The same for encoded documents.
  [[nodiscard]] virtual Result<GroupOutput> score_encoded(TokenIds query,
                                                          const DocumentCache& documents,
                                                          std::span<const std::int64_t> numbers,
                                                          const Show& show);
  /// Whether the cache was made by this model.
  [[nodiscard]] virtual Status accepts(const DocumentCache& documents);
  [[nodiscard]] virtual ModelWork work_of(const WordCounts& counts) const = 0;
  /// Peak memory in bytes, in addition to the weights.
  [[nodiscard]] virtual std::int64_t peak_bytes(const WordCounts& counts) const = 0;

  /// Ok, or what is wrong with a text: an id outside the vocabulary, padding between words, more
  /// words than the model accepts. `what`: "the query".
  [[nodiscard]] Status check(TokenIds words, std::string_view what, std::int64_t most) const;
  [[nodiscard]] Status check_documents(std::span<const TokenIds> documents) const;

  [[nodiscard]] const ModelWeights& weights() const { return *weights_; }
  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] std::int64_t hidden() const { return config_.shape.hidden; }
  [[nodiscard]] int threads() const { return threads_; }
  /// Word vectors [words, hidden] of these texts, concatenated.
  [[nodiscard]] at::Tensor embed(std::span<const TokenIds> texts) const;

 private:
  [[nodiscard]] Status check(const PairBatch& batch) const;
  [[nodiscard]] Result<std::vector<WordCounts>> counts_of(const PairBatch& batch) const;

  std::shared_ptr<const ModelWeights> weights_;
  ModelConfig config_;
  int threads_;
  at::Tensor embeddings_;
};

/// Runs of consecutive documents of at most `most` words, or of a single longer document.
[[nodiscard]] std::vector<std::span<const TokenIds>> pieces_of_words(
    std::span<const TokenIds> documents, std::int64_t most);
/// Normalizes rows to unit length in place; zero rows stay zero.
void to_unit_length(at::Tensor& rows);

/// The text without trailing padding.
[[nodiscard]] TokenIds without_padding(TokenIds text);
[[nodiscard]] std::vector<TokenIds> without_padding(std::span<const TokenIds> texts);
[[nodiscard]] std::int64_t words_in(TokenIds text);
[[nodiscard]] std::vector<std::int64_t> words_in(std::span<const TokenIds> texts);

}  // namespace attnscope
