#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Attention assembled from calls of a part kernel: partial outputs o_p with their log-sum-exps l_p
// are merged exactly,
//
//   l = log sum_p exp(l_p)          o = sum_p exp(l_p - l) o_p
//
// and the backward calls the kernel with the merged o and l, so that each part's gradients are its
// share of the total: grad_q is their sum over all parts, grad_k and grad_v over the parts
// that attend to a key. Only for engine/attention, since it includes LibTorch.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/attention/sdpa/sdpa.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

// Sequences of tokens from packed tensors in the form that a kernel needs: if they have equal
// lengths and distances, a strided view [batch, length, heads, dim] of the caller's memory;
// otherwise gathered as [tokens, heads, dim] with their borders.

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

// A plan as calls of a kernel that supports only a whole rectangle or a band on the diagonal, such
// as FlashAttention with its left and right window. The calls of one group share their rows; their
// results are merged by log-sum-exp.
//
// The paper's sparse pattern on any batch becomes
//
//   [CLS] rows      x  all tokens of the item
//   query rows      x  the query
//   document rows   x  [CLS] and query;  x  the document, window w
//
// each of them one call for the whole batch, with one sequence per item.

/// One call: the rows of sequence s of its group attend to keys[s], all of them or a window.
struct AttentionPart {
  static constexpr std::int64_t no_window = -1;
  std::vector<TokenRange> keys;  // none is empty; with a window they are the rows themselves
  std::int64_t window = no_window;
};

struct RowGroup {
  std::vector<TokenRange> queries;   // one per sequence; none is empty
  std::vector<AttentionPart> parts;  // none: the rows attend to nothing
};

/// Every row of the plan in one group, or a sentence why the plan cannot be expressed in such
/// calls.
[[nodiscard]] Result<std::vector<RowGroup>> parts_of(const Problem& problem);

/// Operands in the conventions of FlashAttention: a batch of sequences of one length as [batch,
/// length, heads, dim] with any strides, or of different lengths, packed as [tokens, heads, dim]
/// with their borders.
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
  /// Uses the merged o and lse of the rows, P = exp(scale q k^T - lse), so that the part's
  /// gradients are its share of the total.
  [[nodiscard]] virtual PartGradients backward(const PartOperands& operands,
                                               const at::Tensor& grad_o,
                                               const PartResult& whole) const = 0;
};

/// `groups` as returned by parts_of(problem); the kernel must outlive the prepared object.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_assembled(const Problem& problem,
                                                                   std::vector<RowGroup> groups,
                                                                   const PartKernel& kernel);

/// Whether flash-window supports the problem: ok if its part kernel does, and the plan consists of
/// such parts; otherwise a sentence why not. `device` is ignored on the CPU.
[[nodiscard]] Status flash_window_supports(const Problem& problem, const SdpaDevice& device);

}  // namespace attnscope
