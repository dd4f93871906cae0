#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Some tokens of a frame [batch, heads, tokens, dim], read and written with LibTorch: a view where
// they are one range, an index otherwise.
//
//   const TokenSet globals({{0, 12}, {42, 43}}, /*frame_begin=*/0, device);
//   at::Tensor keys = globals.of(frame);     // [batch, heads, 13, dim]

#include <ATen/core/Tensor.h>

#include "engine/attention/longformer_chunks/chunk_structure.h"

namespace attnscope {

class TokenSet {
 public:
  TokenSet() = default;
  /// `ranges` in tokens of the batch; the frame's first is `frame_begin`.
  TokenSet(const TokenRanges& ranges, std::int64_t frame_begin, at::Device device);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// A view for one range, a copy otherwise.
  [[nodiscard]] at::Tensor of(const at::Tensor& frame) const;
  /// `values` of any dtype.
  void write(const at::Tensor& frame, const at::Tensor& values) const;
  void add(const at::Tensor& frame, const at::Tensor& values) const;
  void zero(const at::Tensor& frame) const;

 private:
  std::int64_t begin_ = 0;
  std::int64_t size_ = 0;
  at::Tensor index_;  // undefined where the tokens are one range
};

/// Bytes of the index that such a set holds.
[[nodiscard]] std::int64_t index_bytes(const TokenRanges& ranges);

}  // namespace attnscope
