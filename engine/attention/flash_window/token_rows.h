#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sequences of tokens from packed tensors in the form that a kernel needs: if they have equal
// lengths and distances, a strided view [batch, length, heads, dim] of the caller's memory;
// otherwise gathered as [tokens, heads, dim] with their borders. Only for engine/attention, since
// it includes LibTorch.

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

/// Sequences of one length at equal distances; distance 0 is one sequence shared by the whole
/// batch.
struct EvenSequences {
  std::int64_t first = 0, length = 0, distance = 0, count = 0;
};

/// Nothing if the sequences are not even, or if no single stride leads from one to the next in
/// tensors whose items have `item_tokens` tokens (0: no items).
[[nodiscard]] std::optional<EvenSequences> even_sequences(std::span<const TokenRange> sequences,
                                                          std::int64_t item_tokens);

class TokenRows {
 public:
  /// `even` as returned by even_sequences(), or nothing to gather them anyway. `item_tokens` and
  /// `heads` are those of all tensors passed later.
  TokenRows(std::vector<TokenRange> sequences, std::optional<EvenSequences> even,
            std::int64_t item_tokens, std::int64_t heads);

  [[nodiscard]] const std::vector<TokenRange>& sequences() const { return sequences_; }
  [[nodiscard]] bool is_even() const { return even_.has_value(); }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t longest() const { return longest_; }

  /// Copies the lists to the device; call it once, before the functions below.
  void prepare(at::Device device);
  /// Size of these lists in bytes.
  [[nodiscard]] std::int64_t list_bytes() const;

  /// int32 [sequences + 1]; undefined for even ones.
  [[nodiscard]] const at::Tensor& borders() const { return borders_; }
  /// A view for even sequences, else a copy.
  [[nodiscard]] at::Tensor read(const ConstTensor& tensor) const;
  /// Writes values in the form returned by read(), of any dtype, to their places.
  void write(const Tensor& tensor, const at::Tensor& values) const;
  /// Writes numbers [batch, heads, length] or [heads, tokens] to `all` [all tokens, heads].
  void write_numbers(const at::Tensor& all, const at::Tensor& numbers) const;
  /// Adds values in the form returned by read() to float32 sums [all tokens, heads, dim].
  void add(const at::Tensor& sums, const at::Tensor& values) const;

 private:
  [[nodiscard]] at::Tensor view(const ConstTensor& tensor) const;
  /// The whole tensor: [tokens, heads, dim] or [items, item's tokens, heads, dim].
  [[nodiscard]] at::Tensor whole(const ConstTensor& tensor) const;

  std::vector<TokenRange> sequences_;
  std::optional<EvenSequences> even_;
  std::int64_t item_tokens_;
  std::int64_t heads_;
  std::int64_t tokens_ = 0;
  std::int64_t end_ = 0;  // one past the last token
  std::int64_t longest_ = 0;
  at::Device device_ = at::kCPU;
  at::Tensor borders_;
  at::Tensor indices_;                // int64 [tokens]: source of each row
  at::Tensor item_indices_, places_;  // the same as item and place within it, if there are items
};

/// All tokens of a packed tensor, [items, tokens of an item, heads, dim]; one item if it has none.
[[nodiscard]] at::Tensor all_tokens(const ConstTensor& tensor, std::int64_t tokens,
                                    std::int64_t heads, at::Device device);

}  // namespace attnscope
