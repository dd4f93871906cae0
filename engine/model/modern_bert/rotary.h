#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embeddings (Su et al., RoFormer, 2021, Eq. 34) on separate halves as in GPT-NeoX:
// the numbers j and j + d/2 of a head are rotated by p theta^(-2j/d) at position p. Angles are
// float32, as in the authors' code, and so part of the model: at position 8000 they are off by
// 0.0005. LibTorch inside.
//
//   const RotaryTable table(10'000, head_dim, positions, device);
//   table.rotate(queries_and_keys, positions_of_tokens);

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace attnscope {

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

}  // namespace attnscope
