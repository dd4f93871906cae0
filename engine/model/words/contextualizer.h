#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Attention layers over words as in PyTorch's TransformerEncoder: LayerNorm after each residual
// connection, ReLU in the feed-forward network (Vaswani et al., 2017). Sequences are concatenated
// without padding; each attends only to itself. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/bert/encoder_layer.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

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

}  // namespace attnscope
