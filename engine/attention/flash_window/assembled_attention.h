#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Attention assembled from calls of a part kernel: partial outputs o_p with their log-sum-exps l_p
// are merged exactly,
//
//   l = log sum_p exp(l_p)          o = sum_p exp(l_p - l) o_p
//
// and the backward calls the kernel with o and l of the whole, which makes each part's gradients
// its share of the whole's: grad_q is their sum over all parts, grad_k and grad_v over the parts
// that attend to a key. Only for engine/attention, since it includes LibTorch.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/attention/flash_window/parts.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// In the conventions of FlashAttention: a batch of sequences of one length as [batch, length,
/// heads, dim] with any strides, or of different lengths, packed as [tokens, heads, dim] with their
/// borders.
struct PartOperands {
  at::Tensor q;                   // [batch, rows, heads, dim] or [all rows, heads, dim]
  at::Tensor k, v;                // [batch, keys, heads, dim] or [all keys, heads, dim]
  at::Tensor row_borders;         // int32 [batch + 1], from 0 to all rows; or undefined
  at::Tensor key_borders;         // the same for the keys
  std::int64_t longest_rows = 0;  // of a sequence
  std::int64_t longest_keys = 0;
  std::int64_t window = -1;  // row i attends to keys i - window ... i + window; -1: its whole
                             // sequence
  double scale = 1;
};

struct PartResult {
  at::Tensor o;    // shaped like q
  at::Tensor lse;  // float32 [batch, heads, rows] or [heads, all rows]
};

struct PartGradients {
  at::Tensor q, k, v;
};

class PartKernel {
 public:
  virtual ~PartKernel() = default;
  [[nodiscard]] virtual PartResult forward(const PartOperands& operands) const = 0;
  /// With o and lse of the whole rows, of which this is a part: P = exp(scale q k^T - lse), so that
  /// the part's gradients are its share of the whole's.
  [[nodiscard]] virtual PartGradients backward(const PartOperands& operands,
                                               const at::Tensor& grad_o,
                                               const PartResult& whole) const = 0;
};

/// `groups` as returned by parts_of(problem); the kernel must outlive the prepared object.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_assembled(const Problem& problem,
                                                                   std::vector<RowGroup> groups,
                                                                   const PartKernel& kernel);

}  // namespace attnscope
