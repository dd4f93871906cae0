#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One layer of ModernBERT (Warner et al., 2024, Sec. 2.1.1): pre-normalization, rotary position
// embeddings instead of embeddings added to the words', and a gated feed-forward network. LibTorch
// inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "engine/model/bert/encoder_layer.h"
#include "engine/model/linear.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// Rotary position embeddings (Su et al., RoFormer, 2021, Eq. 34) on separate halves as in
/// GPT-NeoX: the numbers j and j + d/2 of a head are rotated by p theta^(-2j/d) at position p.
/// Angles are float32, as in the authors' code, and so part of the model: at position 8000 they are
/// off by 0.0005.
///
///   const RotaryTable table(10'000, head_dim, positions, device);
///   table.rotate(queries_and_keys, positions_of_tokens);
class RotaryTable {
 public:
  RotaryTable(double theta, std::int64_t head_dim, std::int64_t positions, at::Device device);

  /// Rotates x [tokens, heads, head_dim] in place; the heads of a token are contiguous. `positions`
  /// is int64 [tokens], on the table's device.
  void rotate(const at::Tensor& x, const at::Tensor& positions) const;

  /// [positions, head_dim / 2], float32.
  [[nodiscard]] const at::Tensor& angles() const { return angles_; }

 private:
  at::Tensor angles_, cosines_, sines_;  // [positions, head_dim / 2]
};

class ModernLayer {
 public:
  /// `split`: only [CLS] of the layer is computed.
  ModernLayer(const ModelWeights& weights, std::int64_t number, const Computing& computing,
              bool split);

  /// Input of queries, keys and values: x [tokens, hidden] after its norm, which the first layer
  /// lacks.
  [[nodiscard]] at::Tensor normed(const at::Tensor& x) const;
  [[nodiscard]] const Projections& projections() const { return projections_; }

  /// The part of the layer after attention: output projection, both residual connections, gated
  /// feed-forward network. `o` and `x` are [tokens, hidden]; the result overwrites x.
  void finish(const at::Tensor& o, at::Tensor& x) const;
  static constexpr std::int64_t tokens_at_once = 256;

 private:
  std::optional<Norm> attention_norm_;
  Projections projections_;
  Linear attention_output_;
  Norm wide_norm_;
  Linear activated_, gate_, output_;
};

}  // namespace attnscope
