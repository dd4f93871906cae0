#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Re-rankers whose documents are contextualized before any query is known, and the attention layers
// over words that do this. Uses LibTorch.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/family.h"
#include "engine/model/late/document_rows.h"
#include "engine/model/model_weights.h"
#include "engine/model/words/words_model.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {

/// A word in the input of the layers.
struct ContextRow {
  static constexpr std::int64_t dropped = -1;
  std::int32_t word = 0;        // row of the word vectors
  std::int32_t position = 0;    // row of the position vectors
  std::int64_t kept = dropped;  // row of the result
};

/// Words to contextualize.
struct ContextCall {
  std::span<const ContextRow> rows;
  std::span<const std::int64_t> lengths;  // of sequences of rows
  const at::Tensor& positions;            // [some, hidden]
  double mixer = 0;                       // weight of a word's own vector
  std::int64_t kept = 0;                  // rows of the result
  bool to_unit_length = false;
};

/// Attention layers over words as in PyTorch's TransformerEncoder: LayerNorm after each residual
/// connection, ReLU in the feed-forward network (Vaswani et al., 2017). Sequences are concatenated
/// without padding; each attends only to itself.
class Contextualizer {
 public:
  /// Uses `implementation` for full attention within each sequence.
  Contextualizer(const ModelWeights& weights, const ModelVariant& variant,
                 const Implementation& implementation);

  /// Returns [kept, hidden]: m e + (1 - m) c of the kept rows, with the word's vector e and the
  /// layers' output c for that vector with its position, which TK calls the hybrid of both. A few
  /// sequences at a time pass through all layers, so that states stay in a core's cache; threads
  /// process such pieces dynamically, or share one piece if there are fewer pieces than threads.
  /// Results do not depend on that. Errors: those of the implementation.
  [[nodiscard]] Result<at::Tensor> run(const ContextCall& call) const;
  [[nodiscard]] Result<ModelWork> work(std::span<const std::int64_t> lengths) const;
  /// Peak memory of a run in bytes, in addition to the result.
  [[nodiscard]] std::int64_t peak_bytes(std::span<const std::int64_t> lengths) const;

 private:
  struct Piece {
    std::span<const std::int64_t> lengths;
    std::int64_t first = 0, words = 0;  // rows
  };
  /// Consecutive pieces with equal lengths share one plan.
  struct Planned {
    std::unique_ptr<AttentionStage> stage;
    std::span<const std::int64_t> lengths;
  };
  [[nodiscard]] Status plan(const ModelVariant& variant, const Piece& piece, Planned& at) const;
  [[nodiscard]] std::vector<Piece> pieces_of(std::span<const std::int64_t> lengths) const;
  /// Number of threads that each process separate pieces: all, or 1 if all share each piece.
  [[nodiscard]] int workers(std::size_t pieces) const;
  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage(
      const ModelVariant& variant, std::span<const std::int64_t> lengths) const;
  [[nodiscard]] Status run_piece(const ContextCall& call, const Piece& piece,
                                 const AttentionStage& prepared, at::Tensor& kept) const;
  [[nodiscard]] std::int64_t peak_bytes_of(const AttentionStage& stage, std::int64_t words) const;

  ModelShape shape_;
  ModelVariant together_, alone_;  // with all threads and with one; stages refer to them
  const Implementation& implementation_;
  at::Tensor words_;
  std::vector<EncoderLayer> layers_;
};

/// Implementations of the attention over words, the preferred one first.
[[nodiscard]] std::vector<std::string_view> word_implementations();

/// Sinusoidal position rows 0 .. count - 1, sines then cosines, of falling frequency: [count,
/// hidden].
[[nodiscard]] at::Tensor sinusoid_rows(std::int64_t count, std::int64_t hidden);

/// A re-ranker that keeps one unit-length vector per word of a document, because only cosines with
/// the query's vectors are used.
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
  [[nodiscard]] Status accepts(const DocumentCache& documents) final;
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
