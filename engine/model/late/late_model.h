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
#include <string>
#include <string_view>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/model/bert/reference.h"
#include "engine/model/family.h"
#include "engine/model/late/document_rows.h"
#include "engine/model/late/late_description.h"
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

/// Operations for the float64 references of the families on BERT's body (MixEncoder, Dual-BERT,
/// ColBERT, Deformer and others), each of which adds an Interaction.
class LateReference {
 public:
  LateReference(const ModelWeights& weights, const ModelVariant& variant, std::int32_t cls)
      : weights_(weights), variant_(variant), cls_(cls) {}

  [[nodiscard]] const ModelShape& shape() const { return weights_.shape(); }
  /// The tensor, rounded to the variant's dtype.
  [[nodiscard]] at::Tensor tensor(const std::string& name) const;
  [[nodiscard]] at::Tensor linear(const std::string& name, const at::Tensor& x) const;
  [[nodiscard]] at::Tensor norm(const std::string& name, const at::Tensor& x) const;

  /// States [tokens, hidden] of a text before layer `end`. Errors: those of pack_texts.
  [[nodiscard]] Result<at::Tensor> encode(TokenIds text, const TextForm& form, std::int64_t end,
                                          const std::string& learned = {}) const;
  /// Both texts through all layers.
  struct Both {
    at::Tensor query, document;
  };
  [[nodiscard]] Result<Both> encode_both(TokenIds query, TokenIds document) const;
  /// Runs x [tokens, hidden] of that layout through the layers from `first` to the last.
  [[nodiscard]] at::Tensor run_from(const SequenceLayout& layout, const at::Tensor& x,
                                    std::int64_t first) const;

  /// softmax(q k^T * scale) v by head; [rows, hidden] each. With one head and scale 1: a
  /// composition by codes.
  [[nodiscard]] static at::Tensor attend(const at::Tensor& q, const at::Tensor& k,
                                         const at::Tensor& v, std::int64_t heads, double scale);

 private:
  const ModelWeights& weights_;
  const ModelVariant& variant_;
  std::int32_t cls_;
};

/// How texts of one kind are encoded.
struct TextEncoding {
  TextForm form{};
  LayerRange layers{};
  LastLayer last = LastLayer::whole;
};

/// Kept rows of queries: of all tokens, concatenated, or of [CLS] alone.
struct QueryRows {
  at::Tensor rows;
  bool of_tokens = true;
};

/// The part of a family's computation that is not BERT's body.
class Interaction {
 public:
  Interaction() = default;
  Interaction(const Interaction&) = delete;
  Interaction& operator=(const Interaction&) = delete;
  virtual ~Interaction() = default;

  [[nodiscard]] virtual TextEncoding queries() const = 0;
  [[nodiscard]] virtual TextEncoding documents() const = 0;

  /// Runs the layers of queries(), unless a family keeps more of a query than their output.
  [[nodiscard]] virtual Result<std::vector<QueryRows>> encode_queries(const BertEncoder& encoder,
                                                                      const AttentionStage& stage,
                                                                      at::Tensor embedded) const;
  /// Work of these layers, for work and memory estimates.
  [[nodiscard]] virtual ModelWork work_of_queries(const BertEncoder& encoder,
                                                  const AttentionStage& stage) const;

  /// Cached rows of encoded documents, [rows of all documents, width()].
  [[nodiscard]] virtual at::Tensor kept_of_documents(const at::Tensor& states,
                                                     const PackedBatch& packed) const = 0;
  /// Number of rows kept for a document of `tokens` tokens, [CLS] not counted.
  [[nodiscard]] virtual std::int64_t rows_kept(std::int64_t tokens) const = 0;
  [[nodiscard]] virtual std::int64_t width() const = 0;
  /// Work of kept_of_documents.
  [[nodiscard]] virtual ModelWork work_of_keeping(const SequenceLayout& layout) const;

  /// Scores one query with its candidates. With one candidate, `show` receives intermediate
  /// results.
  [[nodiscard]] virtual Result<Interacted> interact(const BertEncoder& encoder,
                                                    const EncodedQuery& query,
                                                    const Candidates& candidates,
                                                    const Show& show) const = 0;
  [[nodiscard]] virtual ModelWork work(const BertEncoder& encoder,
                                       const InteractionSize& size) const = 0;
  /// Peak memory in bytes, in addition to the weights, the query and the candidates' rows.
  [[nodiscard]] virtual std::int64_t peak_bytes(const BertEncoder& encoder,
                                                const InteractionSize& size) const = 0;
};

/// Inputs of an interaction's constructor.
struct InteractionParts {
  const ModelWeights& weights;
  const ModelConfig& config;  // with options
  const Computing& computing;
  int threads;
};

/// An interaction that keeps only the last [CLS] of a document.
class ClsInteraction : public Interaction {
 public:
  explicit ClsInteraction(const InteractionParts& parts)
      : shape_(parts.config.shape), computing_(parts.computing), threads_(parts.threads) {}

  [[nodiscard]] TextEncoding documents() const final {
    return {{.group = TokenGroup::document}, {0, shape_.layers}, LastLayer::cls_alone};
  }
  [[nodiscard]] at::Tensor kept_of_documents(const at::Tensor& states,
                                             const PackedBatch& /*packed*/) const final {
    return states;
  }
  [[nodiscard]] std::int64_t rows_kept(std::int64_t /*tokens*/) const final { return 1; }
  [[nodiscard]] std::int64_t width() const final { return shape_.hidden; }

 protected:
  ModelShape shape_;
  Computing computing_;
  int threads_;
};

/// A family of such models.
class LateFamily : public Family {
 public:
  [[nodiscard]] const FamilyDescription& description() const final { return late(); }
  [[nodiscard]] std::vector<std::string_view> implementations() const final;
  [[nodiscard]] Status supports(const ModelConfig& config, const ModelVariant& variant,
                                std::string_view implementation) const final;
  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const final;
  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const final;
  [[nodiscard]] double error_bound(DType dtype, const ModelShape& shape) const final;
  [[nodiscard]] Result<std::shared_ptr<const ModelWeights>> extended_to(
      const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const final;

 protected:
  [[nodiscard]] virtual const LateDescription& late() const = 0;
  /// Ok, or why no such model is supported: a config with options that leave nothing to compute.
  [[nodiscard]] virtual Status fits(const ModelConfig& config) const;
  [[nodiscard]] virtual std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const = 0;
  /// The tensor of vectors that occur in documents like words; "": there are none.
  [[nodiscard]] virtual std::string learned(const ModelConfig& config) const;
  /// What determines a document's rows besides weights and attention, in words.
  [[nodiscard]] virtual std::string kept_in_words(const ModelConfig& config) const;
  /// In float64, for a config with options; a direct transcription of the specification.
  [[nodiscard]] virtual Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                             const ModelConfig& config,
                                                             TokenIds query,
                                                             TokenIds document) const = 0;
};

}  // namespace attnscope
