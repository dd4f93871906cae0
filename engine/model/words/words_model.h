#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Re-rankers over word vectors: what is common of a batch's way to its scores. A family fills in
// what it computes of one query and its documents. LibTorch inside.

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

/// One query and its documents, in numbers of words.
struct WordCounts {
  std::int64_t query = 0;
  std::vector<std::int64_t> documents{};
  bool encoded = false;                // the documents come from a cache
  [[nodiscard]] double words() const;  // of all documents
};

class WordsModel : public Model {
 public:
  /// `config` with options.
  WordsModel(std::shared_ptr<const ModelWeights> weights, ModelConfig config,
             const ModelVariant& variant);

  [[nodiscard]] Status supports(const PairBatch& batch) const final;
  [[nodiscard]] Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const final;
  [[nodiscard]] Result<ModelWork> work(const PairBatch& batch) const final;
  [[nodiscard]] Result<ModelOutput> score(const PairBatch& batch, const Show& show) final;

 protected:
  /// Scores of one query's documents with what they are made of; `show` is handed what there is to
  /// see, of one document. Texts have no padding.
  [[nodiscard]] virtual Result<GroupOutput> score_words(TokenIds query,
                                                        std::span<const TokenIds> documents,
                                                        const Show& show) = 0;
  /// The same of documents that were encoded before.
  [[nodiscard]] virtual Result<GroupOutput> score_encoded(TokenIds query,
                                                          const DocumentCache& documents,
                                                          std::span<const std::int64_t> numbers,
                                                          const Show& show);
  /// Whether the cache is one of this model's.
  [[nodiscard]] virtual Status takes(const DocumentCache& documents);
  [[nodiscard]] virtual ModelWork work_of(const WordCounts& counts) const = 0;
  /// Beside the weights.
  [[nodiscard]] virtual std::int64_t peak_bytes(const WordCounts& counts) const = 0;

  /// Ok, or what is wrong with a text: an id outside the vocabulary, padding between words, more
  /// words than such a model takes. `what`: "the query".
  [[nodiscard]] Status check(TokenIds words, std::string_view what, std::int64_t most) const;
  [[nodiscard]] Status check_documents(std::span<const TokenIds> documents) const;

  [[nodiscard]] const ModelWeights& weights() const { return *weights_; }
  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] std::int64_t hidden() const { return config_.shape.hidden; }
  [[nodiscard]] int threads() const { return threads_; }
  /// [words, hidden] of these texts one after the other.
  [[nodiscard]] at::Tensor embed(std::span<const TokenIds> texts) const;

 private:
  [[nodiscard]] Status check(const PairBatch& batch) const;
  [[nodiscard]] Result<std::vector<WordCounts>> counts_of(const PairBatch& batch) const;

  std::shared_ptr<const ModelWeights> weights_;
  ModelConfig config_;
  int threads_;
  at::Tensor embeddings_;
};

/// Stretches of documents of at most `most` words, or of one document.
[[nodiscard]] std::vector<std::span<const TokenIds>> pieces_of_words(
    std::span<const TokenIds> documents, std::int64_t most);
/// Rows over their lengths, in place; those of zeros stay.
void to_unit_length(at::Tensor& rows);

/// Without the padding behind its words.
[[nodiscard]] TokenIds without_padding(TokenIds text);
[[nodiscard]] std::vector<TokenIds> without_padding(std::span<const TokenIds> texts);
[[nodiscard]] std::int64_t words_in(TokenIds text);
[[nodiscard]] std::vector<std::int64_t> words_in(std::span<const TokenIds> texts);

}  // namespace attnscope
