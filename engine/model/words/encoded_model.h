#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Re-rankers whose documents are contextualized before any query is known: one unit-length vector
// per word, because only cosines with the query's vectors are used. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/model/late/document_rows.h"
#include "engine/model/words/contextualizer.h"
#include "engine/model/words/words_model.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {

class EncodedModel : public WordsModel {
 public:
  /// `encoding`: what determines a document's vectors besides weights and heads, in words.
  EncodedModel(const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
               const ModelVariant& variant, const Implementation& implementation,
               std::string_view encoding);

  [[nodiscard]] Result<DocumentCache> encode_documents(std::span<const TokenIds> documents,
                                                       std::int32_t cls) final;
  [[nodiscard]] Result<ModelWork> work_of_documents(
      std::span<const TokenIds> documents) const final;
  [[nodiscard]] Result<CachedRows> cached_rows(std::int64_t tokens) const final;

 protected:
  [[nodiscard]] Result<GroupOutput> score_words(TokenIds query, std::span<const TokenIds> documents,
                                                const Show& show) final;
  [[nodiscard]] Result<GroupOutput> score_encoded(TokenIds query, const DocumentCache& documents,
                                                  std::span<const std::int64_t> numbers,
                                                  const Show& show) final;
  [[nodiscard]] Status takes(const DocumentCache& documents) final;
  [[nodiscard]] ModelWork work_of(const WordCounts& counts) const final;
  [[nodiscard]] std::int64_t peak_bytes(const WordCounts& counts) const final;

  /// Lengths of the concatenated sequences that are contextualized for a document of `words` words.
  [[nodiscard]] virtual std::vector<std::int64_t> sequences_of(std::int64_t words) const = 0;
  /// Number of vectors kept for such a document.
  [[nodiscard]] virtual std::int64_t kept_of(std::int64_t words) const = 0;
  /// Vectors of the query's words, [words, hidden], in context.
  [[nodiscard]] virtual Result<at::Tensor> encode_query(TokenIds query) const = 0;
  /// Kept vectors of some documents, concatenated, of unit length.
  [[nodiscard]] virtual Result<at::Tensor> encode(std::span<const TokenIds> documents) const = 0;
  /// A query's vectors and its documents': each document has its range of `rows`, whose vectors
  /// have unit length.
  struct Encoded {
    const at::Tensor& query;  // [words, hidden]
    TokenIds words;           // of the query
    const float* rows = nullptr;
    std::span<const TokenRange> documents;
    [[nodiscard]] cpu::PoolingCall pooling() const;
  };
  [[nodiscard]] virtual Result<GroupOutput> interact(const Encoded& encoded,
                                                     const Show& show) const = 0;
  /// Work of the interaction. Documents are counted in kept vectors, as for the bytes.
  [[nodiscard]] virtual ModelWork work_of_interaction(const WordCounts& counts) const = 0;
  /// Peak memory in bytes, in addition to both texts' vectors.
  [[nodiscard]] virtual std::int64_t bytes_of_interaction(const WordCounts& counts) const = 0;

  [[nodiscard]] const Contextualizer& contextualizer() const { return contextualizer_; }

 private:
  [[nodiscard]] WordCounts kept(WordCounts counts) const;
  [[nodiscard]] std::int64_t words_at_once() const;
  [[nodiscard]] std::vector<std::int64_t> sequences_of_all(
      std::span<const std::int64_t> documents) const;
  [[nodiscard]] Result<ModelWork> work_of_encoding(std::span<const std::int64_t> documents) const;
  [[nodiscard]] std::int64_t bytes_of_encoding(std::span<const std::int64_t> documents) const;
  [[nodiscard]] const DocumentCache::Maker& maker();

  Contextualizer contextualizer_;
  DocumentCache::Maker maker_;  // the weights' fingerprint is computed on demand
};

}  // namespace attnscope
