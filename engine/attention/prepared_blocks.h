#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common code of LibTorch baselines that compute whole items: they iterate over the layout's blocks
// and, unless attention is full, have one mask per block. Direction forward builds no graph;
// forward and backward use LibTorch's autograd over the same blocks. Only for engine/attention,
// since it includes LibTorch.

#include <vector>

#include "engine/attention/blocks.h"
#include "engine/attention/implementation.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {

/// The products of 16-bit matrices go through oneDNN, which packs operands and accumulates in
/// float32 in blocks per thread: up to 1.3 MB per thread was measured (LibTorch 2.15, AVX-512, n <=
/// 4096).
inline constexpr std::int64_t product_blocks_of_a_thread = 1'500'000;

/// The mask's values for an allowed pair and for a masked one.
struct MaskValues {
  float allowed, refused;
};

/// Largest memory that one block needs beyond inputs, outputs and masks.
struct BlockBytes {
  std::int64_t kept = 0;     // with gradients: from its forward to its backward
  std::int64_t working = 0;  // in addition, at the peak of either pass
};

class PreparedBlocks : public PreparedAttention {
 public:
  PreparedBlocks(const Problem& problem, bool masked, MaskValues values);

  [[nodiscard]] std::int64_t workspace_bytes() const final { return 0; }
  [[nodiscard]] bool writes_lse() const override { return false; }
  [[nodiscard]] std::int64_t allocated_bytes() const final;
  [[nodiscard]] Status forward(const ForwardCall& call) final;
  [[nodiscard]] Status backward(const BackwardCall& call) final;

 protected:
  /// The result of a block: o [batch, heads, rows, dim] and, if writes_lse(), the log-sum-exps
  /// [batch, heads, rows] in float32.
  struct Attended {
    at::Tensor o, lse;
  };

  /// Computes one block into call.o (and call.lse); `mask` is null if every pair is allowed.
  virtual void run(const ForwardCall& call, const Block& block, const TorchMask* mask) const = 0;
  /// Computes the same out of place, from q [batch, heads, rows, dim] and k, v [batch, heads,
  /// columns, dim], as a graph for autograd.
  [[nodiscard]] virtual Attended graph(const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const Block& block,
                                       const TorchMask* mask) const = 0;

  [[nodiscard]] virtual BlockBytes bytes_of(const Block& block) const = 0;
  /// Memory that the library allocates for any block.
  [[nodiscard]] virtual std::int64_t library_bytes() const = 0;

  /// Writes a block's log-sum-exps to call.lse if it is given; -inf in rows without keys.
  void write_lse(const ForwardCall& call, const Block& block, const at::Tensor& lse,
                 const TorchMask* mask) const;

  [[nodiscard]] std::int64_t mask_bytes_of(const Block& block) const;
  [[nodiscard]] bool with_gradients() const {
    return problem_.direction == Direction::forward_backward;
  }
  [[nodiscard]] bool on_cuda() const { return problem_.device == DeviceKind::cuda; }
  /// The block's rows (or columns) of a call's tensor, on the problem's device.
  template <typename AnyTensor>
  [[nodiscard]] at::Tensor view(const AnyTensor& tensor, TokenRange range,
                                std::int64_t batch) const {
    return view_of(tensor, range, batch, heads_, torch_device(problem_.device));
  }
  [[nodiscard]] at::Tensor view_columns(const ConstTensor& tensor, const Block& block) const {
    return columns_of(tensor, block, heads_, torch_device(problem_.device));
  }

  Problem problem_;
  std::int64_t heads_;
  std::vector<Block> blocks_;
  bool masked_;

 private:
  /// A block's leaves and its outputs.
  struct Graph {
    std::vector<at::Tensor> leaves;  // q, k, v and, for a separate shared query, its k and v
    Attended left;
  };
  void make_masks();
  [[nodiscard]] Graph make_graph(const ForwardCall& call, std::size_t block) const;

  MaskValues values_;
  TaskIndex tasks_;
  std::vector<TorchMask> masks_;  // per block, kept between calls
  std::vector<Graph> graphs_;     // per block, from a forward call to its backward
};

}  // namespace attnscope
