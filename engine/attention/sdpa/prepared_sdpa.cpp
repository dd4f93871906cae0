// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/prepared_sdpa.h"

#include <ATen/ops/scaled_dot_product_attention.h>

#include <algorithm>
#include <limits>

#include "engine/attention/prepared_blocks.h"

namespace attnscope {
namespace {

// LibTorch's CPU kernel works in tiles of at most this many rows and keys, a set for each thread
// (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp: q_split_size, kv_split_size).
constexpr std::int64_t tile_rows = 256;
constexpr std::int64_t tile_keys = 512;

// A boolean mask would be turned into an additive one inside every call.
constexpr MaskValues additive{0.0F, -std::numeric_limits<float>::infinity()};

class PreparedSdpa final : public PreparedBlocks {
 public:
  PreparedSdpa(const Problem& problem, SdpaMask mask)
      : PreparedBlocks(problem, mask == SdpaMask::from_plan, additive) {}

  ExecutedWork executed() const override {
    ExecutedWork work;
    for (const Block& block : blocks_) {
      const auto matrices = static_cast<double>(block.batch * heads_);
      const auto rows = static_cast<double>(block.rows());
      const auto columns = static_cast<double>(block.columns());
      const auto dim = static_cast<double>(problem_.head_dim);
      work.flop += 4 * matrices * rows * columns * dim;
      work.bytes +=
          matrices * 2 * (rows + columns) * dim * static_cast<double>(size_of(problem_.dtype));
      if (!masked_) continue;
      // Each matrix reads the mask anew.
      work.bytes += matrices * rows * columns * static_cast<double>(size_of(problem_.dtype));
    }
    return work;
  }

  std::int64_t predicted_peak_bytes() const override {
    std::int64_t masks = 0;
    std::int64_t largest = 0;
    for (const Block& block : blocks_) {
      masks += mask_bytes_of(block);
      std::int64_t copied = block.rows();  // the result, which LibTorch allocates
      if (!block.shared_keys.empty()) copied += 2 * block.columns();
      if (problem_.dtype != DType::float32) copied += 2 * block.columns();  // repacked keys, values
      largest = std::max(largest, block.batch * heads_ * copied * problem_.head_dim);
    }
    const std::int64_t tile = tile_rows * (tile_keys + problem_.head_dim + 2);
    return masks + largest * size_of(problem_.dtype) +
           problem_.threads * tile * static_cast<std::int64_t>(sizeof(float));
  }

 private:
  void run(const ForwardCall& call, const Block& block, const TorchMask* mask) const override {
    const at::Tensor q = view_of(call.q, block.queries, block.batch, heads_);
    const at::Tensor k = columns_of(call.k, block, heads_);
    const at::Tensor v = columns_of(call.v, block, heads_);
    std::optional<at::Tensor> bias;
    if (mask != nullptr) {
      bias = mask->mask.unsqueeze(0).expand({block.batch, heads_, block.rows(), block.columns()});
    }
    at::Tensor o = view_of(call.o, block.queries, block.batch, heads_);
    o.copy_(at::scaled_dot_product_attention(q, k, v, bias, /*dropout_p=*/0.0, /*is_causal=*/false,
                                             problem_.scale));
    if (mask != nullptr && mask->empty_rows.defined()) o.masked_fill_(mask->empty_rows, 0);
  }
};

}  // namespace

std::unique_ptr<PreparedAttention> prepare_sdpa(const Problem& problem, SdpaMask mask) {
  return std::make_unique<PreparedSdpa>(problem, mask);
}

}  // namespace attnscope
