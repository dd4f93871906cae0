#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rows that Longformer computes separately and overwrites: global tokens, against all keys they
// attend to. One product, one softmax in float32 and one product for each set of rows with the same
// keys.

#include <ATen/core/Tensor.h>

#include "engine/attention/longformer_chunks/chunk_structure.h"

namespace attnscope {

/// Some tokens of a frame [batch, heads, tokens, dim], read and written with LibTorch: a view if
/// they are one range, an index otherwise.
///
///   const TokenSet globals({{0, 12}, {42, 43}}, /*frame_begin=*/0, device);
///   at::Tensor keys = globals.of(frame);     // [batch, heads, 13, dim]
class TokenSet {
 public:
  TokenSet() = default;
  /// `ranges` in tokens of the batch; the frame starts at token `frame_begin`.
  TokenSet(const TokenRanges& ranges, std::int64_t frame_begin, at::Device device);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// A view for one range, a copy otherwise.
  [[nodiscard]] at::Tensor of(const at::Tensor& frame) const;
  /// Writes `values` of any dtype.
  void write(const at::Tensor& frame, const at::Tensor& values) const;
  void add(const at::Tensor& frame, const at::Tensor& values) const;
  void zero(const at::Tensor& frame) const;

 private:
  std::int64_t begin_ = 0;
  std::int64_t size_ = 0;
  at::Tensor index_;  // undefined if the tokens are one range
};

/// Tensors [batch, heads, tokens, dim] of one block.
struct Frames {
  at::Tensor q, k, v, o;
};

/// The outputs of a backward: grad_k and grad_v are float32, and all rows add to them.
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
