#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Layers of attention over words, as PyTorch's TransformerEncoder has them: LayerNorm behind each
// residual, ReLU in the feed-forward network (Vaswani et al., 2017). Sequences lie one after the
// other without padding; each sees itself alone. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/bert/attention_stage.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// A word that goes through the layers.
struct ContextRow {
  static constexpr std::int64_t dropped = -1;
  std::int32_t word = 0;        // row of the words' vectors
  std::int32_t position = 0;    // row of the positions'
  std::int64_t kept = dropped;  // row of the result
};

/// Words that are put into context.
struct ContextCall {
  std::span<const ContextRow> rows;
  std::span<const std::int64_t> lengths;  // of sequences of rows
  const at::Tensor& positions;            // [some, hidden]
  double mixer = 0;                       // of a word's own vector
  std::int64_t kept = 0;                  // rows of the result
  bool to_unit_length = false;
};

class Contextualizer {
 public:
  /// The attention of a sequence is whole, by that implementation.
  Contextualizer(const ModelWeights& weights, const ModelVariant& variant,
                 const Implementation& implementation);

  /// [kept, hidden]: m e + (1 - m) c of the rows that are kept, with the word's vector e and c what
  /// the layers make of it with its position, what TK calls the hybrid of both. A few sequences at
  /// a time go through all layers, so that states stay in a core's cache; threads take such pieces
  /// as they come, or work on one together where there are fewer. No result depends on that.
  /// Errors: what the implementation says.
  [[nodiscard]] Result<at::Tensor> run(const ContextCall& call) const;
  [[nodiscard]] Result<ModelWork> work(std::span<const std::int64_t> lengths) const;
  /// Of a run, beside the result.
  [[nodiscard]] std::int64_t peak_bytes(std::span<const std::int64_t> lengths) const;

 private:
  struct Piece {
    std::span<const std::int64_t> lengths;
    std::int64_t first = 0, words = 0;  // rows
  };
  /// Pieces one after the other that are alike are planned once.
  struct Planned {
    std::unique_ptr<AttentionStage> stage;
    std::span<const std::int64_t> lengths;
  };
  [[nodiscard]] Status plan(const ModelVariant& variant, const Piece& piece, Planned& at) const;
  [[nodiscard]] std::vector<Piece> pieces_of(std::span<const std::int64_t> lengths) const;
  /// Threads that each take pieces of their own: all, or 1 where all work on one piece together.
  [[nodiscard]] int takers(std::size_t pieces) const;
  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage(
      const ModelVariant& variant, std::span<const std::int64_t> lengths) const;
  [[nodiscard]] Status run_piece(const ContextCall& call, const Piece& piece,
                                 const AttentionStage& prepared, at::Tensor& kept) const;
  [[nodiscard]] std::int64_t peak_bytes_of(const AttentionStage& stage, std::int64_t words) const;

  ModelShape shape_;
  ModelVariant together_, alone_;  // of all threads and of one; stages look at them
  const Implementation& implementation_;
  at::Tensor words_;
  std::vector<EncoderLayer> layers_;
};

/// By which the attention of words can be computed, the first choice first.
[[nodiscard]] std::vector<std::string_view> word_implementations();

/// Rows 0 .. count - 1 of sines, then cosines, of falling rates: [count, hidden].
[[nodiscard]] at::Tensor sinusoid_rows(std::int64_t count, std::int64_t hidden);

}  // namespace attnscope
