#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What LibTorch baselines that compute whole items have in common: they walk the layout's blocks
// and, unless attention is full, hold one mask a block. For engine/attention alone: LibTorch
// inside.

#include <vector>

#include "engine/attention/blocks.h"
#include "engine/attention/implementation.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {

/// What a mask holds where a pair is allowed and where it is not.
struct MaskValues {
  float allowed, refused;
};

class PreparedBlocks : public PreparedAttention {
 public:
  PreparedBlocks(const Problem& problem, bool masked, MaskValues values);

  [[nodiscard]] std::int64_t workspace_bytes() const final { return 0; }
  [[nodiscard]] bool writes_lse() const final { return false; }
  [[nodiscard]] Status forward(const ForwardCall& call) final;
  [[nodiscard]] Status backward(const BackwardCall& call) final;

 protected:
  /// One block; `mask` is null when every pair is allowed.
  virtual void run(const ForwardCall& call, const Block& block, const TorchMask* mask) const = 0;

  [[nodiscard]] std::int64_t mask_bytes_of(const Block& block) const;

  Problem problem_;
  std::int64_t heads_;
  std::vector<Block> blocks_;
  bool masked_;

 private:
  MaskValues values_;
  TaskIndex tasks_;
  std::vector<TorchMask> masks_;  // per block, kept between calls
};

}  // namespace attnscope
