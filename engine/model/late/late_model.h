#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Models that encode queries and documents separately and let them interact late (MixEncoder,
// ColBERT and others): their common part, around a BiEncoder. Documents are token ids or come from
// a cache. Uses LibTorch.
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
#include "engine/model/linear.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// Kept rows of one query: tensors [rows, width].
using EncodedQuery = std::vector<at::Tensor>;

/// Size of an interaction after the encoder: one query of `query_tokens` tokens (including [CLS])
/// and candidates with their numbers of cached rows, `row_bytes` each.
struct InteractionSize {
  std::int64_t query_tokens = 0;
  std::vector<std::int64_t> candidate_rows{};
  double row_bytes = 0;
  [[nodiscard]] double candidates() const { return static_cast<double>(candidate_rows.size()); }
  [[nodiscard]] double rows() const;
};

/// Scores [n] and the vectors they are computed from, [n, width], both float32.
struct Interacted {
  at::Tensor scores, states;
};

/// Encodes queries and documents, and scores their encodings.
class BiEncoder {
 public:
  BiEncoder() = default;
  BiEncoder(const BiEncoder&) = delete;
  BiEncoder& operator=(const BiEncoder&) = delete;
  virtual ~BiEncoder() = default;

  using Texts = std::span<const TokenIds>;
  /// Work, and peak memory in bytes in addition to the weights.
  struct Cost {
    ModelWork work;
    std::int64_t peak_bytes = 0;
  };
  /// Number of tokens that precede those of a query and of a document.
  [[nodiscard]] virtual std::int64_t tokens_before_query() const = 0;
  [[nodiscard]] virtual std::int64_t tokens_before_document() const = 0;

  [[nodiscard]] virtual Result<std::vector<EncodedQuery>> encode_queries(
      Texts queries, std::int32_t cls) const = 0;
  [[nodiscard]] virtual Result<Cost> cost_of_queries(Texts queries) const = 0;

  /// Cached rows of encoded documents, [rows of all documents, width()].
  [[nodiscard]] virtual Result<at::Tensor> encode_documents(Texts documents,
                                                            std::int32_t cls) const = 0;
  [[nodiscard]] virtual Result<Cost> cost_of_documents(Texts documents) const = 0;
  /// Number of rows kept for a document of `tokens` tokens, [CLS] not counted.
  [[nodiscard]] virtual std::int64_t rows_kept(std::int64_t tokens) const = 0;
  [[nodiscard]] virtual std::int64_t width() const = 0;

  /// Scores one query with its candidates. With one candidate, `show` receives intermediate
  /// results.
  [[nodiscard]] virtual Result<Interacted> interact(const EncodedQuery& query,
                                                    const Candidates& candidates,
                                                    const Show& show) const = 0;
  [[nodiscard]] virtual ModelWork work(const InteractionSize& size) const = 0;
  /// Peak memory in bytes, in addition to the weights, the query and the candidates' rows.
  [[nodiscard]] virtual std::int64_t peak_bytes(const InteractionSize& size) const = 0;
};

/// `maker` identifies the model in caches; its fingerprint of the weights is computed on demand.
[[nodiscard]] std::unique_ptr<Model> make_late_model(std::shared_ptr<const ModelWeights> weights,
                                                     const Computing& computing, int threads,
                                                     std::unique_ptr<BiEncoder> encoder,
                                                     DocumentCache::Maker maker);

/// "sparse, w = 16, 12 heads, epsilon 1e-12": the settings, besides the weights, that documents are
/// encoded with.
[[nodiscard]] std::string encoder_in_words(const ModelVariant& variant, const ModelShape& shape);

/// MaxSim (Khattab and Zaharia, SIGIR 2020, Eq. 3): for each vector of a query, the largest product
/// with a vector of a document; shared by models of token vectors.
struct MaxSim {
  Computing computing;
  int threads = 1;
  std::int64_t width = 0;  // width of a vector
  float least = 0;         // lower bound that replaces smaller products

  /// `query` [vectors, width]. Scores are sums of the maxima, which are the states. `show` receives
  /// the vectors of a single candidate as queries, keys and values of one head of `layer`: the
  /// maxima are taken over their products.
  [[nodiscard]] Result<Interacted> of(const at::Tensor& query, const Candidates& candidates,
                                      std::int64_t layer, const Show& show) const;
  [[nodiscard]] ModelWork work(const InteractionSize& size) const;
  /// Peak memory in bytes, in addition to the query and the candidates' rows.
  [[nodiscard]] std::int64_t peak_bytes(const InteractionSize& size) const;
  /// Work of a linear layer from `hidden` to `width` numbers for `tokens` tokens.
  [[nodiscard]] ModelWork work_of_vectors(std::int64_t tokens, std::int64_t hidden) const;
};

}  // namespace attnscope
