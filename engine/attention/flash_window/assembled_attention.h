#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Attention put together from calls of a part kernel: partial outputs o_p with their log-sum-exps
// l_p are merged exactly,
//
//   l = log sum_p exp(l_p)          o = sum_p exp(l_p - l) o_p
//
// and the backward calls the kernel with o and l of the whole, which makes each part's gradients
// its own share: grad_q is their sum over parts, grad_k and grad_v over all parts that see a key.
// For engine/attention alone: LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/attention/flash_window/parts.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// In the conventions of FlashAttention: a batch of sequences of one length as [batch, length,
/// heads, dim], strided as it may be, or of many lengths one after the other as [tokens, heads,
/// dim] with their borders.
struct PartOperands {
  at::Tensor q;                   // [batch, rows, heads, dim] or [all rows, heads, dim]
  at::Tensor k, v;                // [batch, keys, heads, dim] or [all keys, heads, dim]
  at::Tensor row_borders;         // int32 [batch + 1], from 0 to all rows; or undefined
  at::Tensor key_borders;         // the same of the keys
  std::int64_t longest_rows = 0;  // of a sequence
  std::int64_t longest_keys = 0;
  std::int64_t window = -1;  // row i sees keys i - window ... i + window; -1: all of its sequence
  double scale = 1;
};

struct PartResult {
  at::Tensor o;    // as q
  at::Tensor lse;  // float32 [batch, heads, rows] or [heads, all rows]
};

struct PartGradients {
  at::Tensor q, k, v;
};

class PartKernel {
 public:
  virtual ~PartKernel() = default;
  [[nodiscard]] virtual PartResult forward(const PartOperands& operands) const = 0;
  /// With o and lse of the whole rows, of which the part is one: P = exp(scale q k^T - lse), so
  /// that its gradients are the part's own share of the whole's.
  [[nodiscard]] virtual PartGradients backward(const PartOperands& operands,
                                               const at::Tensor& grad_o,
                                               const PartResult& whole) const = 0;
};

/// `groups` as parts_of(problem) gives them; the kernel must outlive what is prepared.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_assembled(const Problem& problem,
                                                                   std::vector<RowGroup> groups,
                                                                   const PartKernel& kernel);

}  // namespace attnscope
