#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sequences of tokens out of packed tensors, as a kernel wants them: where they are of one length
// and equally far apart, a strided view [batch, length, heads, dim] of the caller's memory; else
// gathered one after the other, [tokens, heads, dim], with their borders. For engine/attention
// alone: LibTorch inside.

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

/// Sequences of one length, equally far apart; 0 apart is one that all of the batch share.
struct EvenSequences {
  std::int64_t first = 0, length = 0, distance = 0, count = 0;
};

/// Nothing where the sequences are not even, or no single stride leads from one to the next in
/// tensors whose items have `item_tokens` tokens (0: no items).
[[nodiscard]] std::optional<EvenSequences> even_sequences(std::span<const TokenRange> sequences,
                                                          std::int64_t item_tokens);

class TokenRows {
 public:
  /// `even` as even_sequences() says, or nothing to have them gathered all the same. `item_tokens`
  /// and `heads` are those of all tensors that come.
  TokenRows(std::vector<TokenRange> sequences, std::optional<EvenSequences> even,
            std::int64_t item_tokens, std::int64_t heads);

  [[nodiscard]] const std::vector<TokenRange>& sequences() const { return sequences_; }
  [[nodiscard]] bool is_even() const { return even_.has_value(); }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t longest() const { return longest_; }

  /// Lists on the device, once; before the calls below.
  void prepare(at::Device device);
  /// Bytes of these lists.
  [[nodiscard]] std::int64_t list_bytes() const;

  /// int32 [sequences + 1]; undefined for even ones.
  [[nodiscard]] const at::Tensor& borders() const { return borders_; }
  /// A view for even sequences, else a copy.
  [[nodiscard]] at::Tensor read(const ConstTensor& tensor) const;
  /// Values of the form that read() gives, of any dtype, to their places.
  void write(const Tensor& tensor, const at::Tensor& values) const;
  /// Numbers [batch, heads, length] or [heads, tokens] into `all` [all tokens, heads].
  void write_numbers(const at::Tensor& all, const at::Tensor& numbers) const;
  /// Adds values of the form that read() gives to float32 sums [all tokens, heads, dim].
  void add(const at::Tensor& sums, const at::Tensor& values) const;

 private:
  [[nodiscard]] at::Tensor view(const ConstTensor& tensor) const;
  /// All that the sequences may lie in: [tokens, heads, dim] or [items, item's tokens, heads, dim].
  [[nodiscard]] at::Tensor whole(const ConstTensor& tensor) const;

  std::vector<TokenRange> sequences_;
  std::optional<EvenSequences> even_;
  std::int64_t item_tokens_;
  std::int64_t heads_;
  std::int64_t tokens_ = 0;
  std::int64_t end_ = 0;  // behind the last token
  std::int64_t longest_ = 0;
  at::Device device_ = at::kCPU;
  at::Tensor borders_;
  at::Tensor indices_;                // int64 [tokens]: where each row comes from
  at::Tensor item_indices_, places_;  // the same as item and place in it, where there are items
};

/// All tokens of a packed tensor, [items, tokens of an item, heads, dim]; without items it is one.
[[nodiscard]] at::Tensor all_tokens(const ConstTensor& tensor, std::int64_t tokens,
                                    std::int64_t heads, at::Device device);

}  // namespace attnscope
