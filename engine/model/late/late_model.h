#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Models that encode queries and documents apart and let them interact late (MixEncoder, ColBERT
// and the like): what is common to all of them, around a BiEncoder. Documents come as token ids or
// from a cache. LibTorch inside.
//
//   auto model = make_late_model(weights, computing, threads, std::move(encoder), maker);

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/model/family.h"
#include "engine/model/late/document_rows.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// What is kept of one query: tensors [rows, width].
using EncodedQuery = std::vector<at::Tensor>;

/// Work after the encoder, for one query of `query_tokens` ([CLS] among them) and candidates of so
/// many cached rows, of `row_bytes` each.
struct InteractionSize {
  std::int64_t query_tokens = 0;
  std::vector<std::int64_t> candidate_rows{};
  double row_bytes = 0;
  [[nodiscard]] double candidates() const { return static_cast<double>(candidate_rows.size()); }
  [[nodiscard]] double rows() const;
};

/// Scores [n] and what they are made of, [n, width], both float32.
struct Interacted {
  at::Tensor scores, states;
};

/// Encodes queries and documents, and scores what it made of them.
class BiEncoder {
 public:
  BiEncoder() = default;
  BiEncoder(const BiEncoder&) = delete;
  BiEncoder& operator=(const BiEncoder&) = delete;
  virtual ~BiEncoder() = default;

  using Texts = std::span<const TokenIds>;
  /// Work, and peak memory in bytes beside the weights.
  struct Cost {
    ModelWork work;
    std::int64_t peak_bytes = 0;
  };
  /// Tokens before those of a query and of a document.
  [[nodiscard]] virtual std::int64_t tokens_before_query() const = 0;
  [[nodiscard]] virtual std::int64_t tokens_before_document() const = 0;

  [[nodiscard]] virtual Result<std::vector<EncodedQuery>> encode_queries(
      Texts queries, std::int32_t cls) const = 0;
  [[nodiscard]] virtual Result<Cost> cost_of_queries(Texts queries) const = 0;

  /// What a cache keeps of encoded documents, [rows of all, width()].
  [[nodiscard]] virtual Result<at::Tensor> encode_documents(Texts documents,
                                                            std::int32_t cls) const = 0;
  [[nodiscard]] virtual Result<Cost> cost_of_documents(Texts documents) const = 0;
  /// Rows kept of a document of so many tokens, [CLS] not counted.
  [[nodiscard]] virtual std::int64_t rows_kept(std::int64_t tokens) const = 0;
  [[nodiscard]] virtual std::int64_t width() const = 0;

  /// One query and its candidates. `show` is handed what there is to see, of one candidate.
  [[nodiscard]] virtual Result<Interacted> interact(const EncodedQuery& query,
                                                    const Candidates& candidates,
                                                    const Show& show) const = 0;
  [[nodiscard]] virtual ModelWork work(const InteractionSize& size) const = 0;
  /// Beside the weights, the query and the candidates' rows.
  [[nodiscard]] virtual std::int64_t peak_bytes(const InteractionSize& size) const = 0;
};

/// `maker` says by whom caches are made; its fingerprint of the weights is taken when it is needed.
[[nodiscard]] std::unique_ptr<Model> make_late_model(std::shared_ptr<const ModelWeights> weights,
                                                     const Computing& computing, int threads,
                                                     std::unique_ptr<BiEncoder> encoder,
                                                     DocumentCache::Maker maker);

/// "sparse, w = 16, 12 heads, epsilon 1e-12": what documents are encoded with beside the weights.
[[nodiscard]] std::string encoder_in_words(const ModelVariant& variant, const ModelShape& shape);

}  // namespace attnscope
