#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rows that Longformer computes apart and writes over: global tokens, against all keys they
// see. One product, one softmax in float32, one product for each set of rows with the same keys.

#include <ATen/core/Tensor.h>

#include "engine/attention/longformer_chunks/token_set.h"

namespace attnscope {

/// Frames [batch, heads, tokens, dim] of one block.
struct Frames {
  at::Tensor q, k, v, o;
};

/// What a backward adds: grad_k and grad_v in float32, into which all rows add.
struct GradientFrames {
  at::Tensor grad_o, grad_q, grad_k, grad_v;
};

class DenseRowSet {
 public:
  DenseRowSet(const DenseRows& rows, std::int64_t frame_begin, double scale, at::Device device)
      : rows_(rows.rows, frame_begin, device),
        keys_(rows.keys, frame_begin, device),
        scale_(scale) {}

  /// Writes the rows of o; returns the weights [batch * heads, rows, keys] in float32.
  [[nodiscard]] at::Tensor forward(const Frames& frames) const;
  /// Writes the rows of grad_q and adds to the keys of grad_k and grad_v.
  void backward(const Frames& frames, const GradientFrames& gradients,
                const at::Tensor& weights) const;

 private:
  TokenSet rows_, keys_;
  double scale_;
};

}  // namespace attnscope
