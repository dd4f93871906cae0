// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/prepared_sdpa.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "engine/attention/prepared_blocks.h"
#include "engine/attention/sdpa/flash_tiles.h"
#include "engine/attention/sdpa/sdpa_kernels.h"

namespace attnscope {
namespace {

// LibTorch's CPU kernel works in tiles of at most this many rows and keys, a set for each thread
// (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp: q_split_size, kv_split_size).
constexpr std::int64_t tile_rows = 256;
constexpr std::int64_t tile_keys = 512;

/// Rows of a backward tile; the same file chooses them by the number of queries.
std::int64_t backward_tile_rows(std::int64_t queries) {
  if (queries >= 768) return tile_rows;
  return queries >= 192 ? 64 : 32;
}

// A boolean mask would be turned into an additive one inside every call. For cuDNN LibTorch used to
// write the most negative float16 (convert_boolean_attn_mask_cudnn in
// aten/src/ATen/native/transformers/attention.cpp), which every version takes.
MaskValues additive(SdpaKernel kernel) {
  if (kernel == SdpaKernel::cudnn) return {0.0F, -65504.0F};
  return {0.0F, -std::numeric_limits<float>::infinity()};
}

class PreparedSdpa final : public PreparedBlocks {
 public:
  PreparedSdpa(const Problem& problem, SdpaKernel kernel, bool masked)
      : PreparedBlocks(problem, masked, additive(kernel)), kernel_(kernel) {}

  /// LibTorch's own choice returns o alone.
  bool writes_lse() const override { return kernel_ != SdpaKernel::chosen_by_libtorch; }

  ExecutedWork executed() const override {
    ExecutedWork work;
    const auto element = static_cast<double>(size_of(problem_.dtype));
    for (const Block& block : blocks_) {
      const auto matrices = static_cast<double>(block.batch * heads_);
      const auto rows = static_cast<double>(block.rows());
      const auto columns = static_cast<double>(block.columns());
      const auto dim = static_cast<double>(problem_.head_dim);
      work.flop += matrices * flop_of(block);
      work.bytes += element * matrices * (with_gradients() ? 2 + 4 : 2) * (rows + columns) * dim;
      // Each matrix reads the mask anew, in either pass.
      if (masked_) work.bytes += element * matrices * (with_gradients() ? 2 : 1) * rows * columns;
    }
    return work;
  }

 protected:
  std::int64_t run_bytes(const Block& block) const override {
    std::int64_t copied = block.rows();  // the result, which LibTorch allocates
    if (!block.shared_keys.empty()) copied += 2 * block.columns();
    copied += repacked_rows(block);
    return bytes_of(block, copied) + padding_bytes(block) + log_sum_exp_bytes(block);
  }

  GraphBytes graph_bytes(const Block& block) const override {
    const std::int64_t rows = block.rows();
    const std::int64_t columns = block.columns();
    std::int64_t kept = rows;  // the result
    if (!block.shared_keys.empty()) kept += 2 * columns;
    // Backward: the gradient that arrives is copied into LibTorch's own order, three leave.
    // Padded operands are kept; their gradients are padded, too.
    return {.kept = bytes_of(block, kept) + padding_bytes(block) + log_sum_exp_bytes(block),
            .forward = bytes_of(block, repacked_rows(block)),
            .backward = bytes_of(block, 2 * rows + 2 * columns) + padding_bytes(block) +
                        gradient_sums_bytes(block)};
  }

  std::int64_t library_bytes() const override {
    if (on_cuda()) return 0;  // tiles are in the processor's own memory
    const auto float_bytes = static_cast<std::int64_t>(sizeof(float));
    const std::int64_t forward = tile_rows * (tile_keys + problem_.head_dim + 2) * float_bytes;
    if (!with_gradients()) return problem_.threads * forward;
    std::int64_t rows = 0;
    for (const Block& block : blocks_) rows = std::max(rows, backward_tile_rows(block.rows()));
    // Weights and their gradient, in 16-bit types both again rounded and then multiplied.
    std::int64_t backward = 2 * rows * (tile_keys + 1) * float_bytes;
    if (problem_.dtype != DType::float32) {
      backward += backward / 2 + product_blocks_of_a_thread;
    }
    return problem_.threads * std::max(forward, backward);
  }

 private:
  /// Products of one matrix: two forward; backward the scores again and four gradients. The flash
  /// kernels of CUDA compute whole tiles.
  double flop_of(const Block& block) const {
    const auto pairs = static_cast<double>(block.rows()) * static_cast<double>(block.columns());
    const auto dim = static_cast<double>(problem_.head_dim);
    if (!on_cuda() || kernel_ != SdpaKernel::flash) {
      return 2 * (with_gradients() ? 2 + 5 : 2) * pairs * dim;
    }
    const FlashPairs all{.rows = block.rows(), .keys = block.columns()};
    const auto products = [&](double count, const FlashTile& tile) {
      return 2 * count * pairs_in_tiles(all, tile) * static_cast<double>(tile.dim);
    };
    const double forward = products(2, flash_forward_tile(problem_.head_dim));
    if (!with_gradients()) return forward;
    return forward + products(5, flash_backward_tile(problem_.head_dim));
  }

  /// Bytes of that many rows of head_dim for each matrix of the block.
  std::int64_t bytes_of(const Block& block, std::int64_t rows) const {
    return block.batch * heads_ * rows * problem_.head_dim * size_of(problem_.dtype);
  }

  /// Keys and values of 16-bit types are packed for their products, padded to whole blocks.
  std::int64_t repacked_rows(const Block& block) const {
    constexpr std::int64_t packed_keys = 64;
    if (on_cuda() || problem_.dtype == DType::float32) return 0;
    return 2 * ((block.columns() + packed_keys - 1) / packed_keys) * packed_keys;
  }

  /// CUDA's kernels write whole tiles of sums.
  std::int64_t summed_rows(std::int64_t rows) const {
    constexpr std::int64_t tile = 128;
    return on_cuda() ? (rows + tile - 1) / tile * tile : rows;
  }

  /// On CUDA several blocks add to a row's gradient, in float32, beside a sum for each row; the
  /// memory-efficient kernel, which LibTorch may choose, adds to those of keys and values, too.
  std::int64_t gradient_sums_bytes(const Block& block) const {
    if (!on_cuda()) return 0;
    constexpr std::int64_t multiple = 32;
    const std::int64_t dim = (problem_.head_dim + multiple - 1) / multiple * multiple;
    std::int64_t floats = summed_rows(block.rows()) * (dim + 1);
    const bool sums_keys =
        kernel_ == SdpaKernel::efficient || kernel_ == SdpaKernel::chosen_by_libtorch;
    if (sums_keys) floats += 2 * summed_rows(block.columns()) * dim;
    return block.batch * heads_ * floats * static_cast<std::int64_t>(sizeof(float));
  }

  /// q, k and v copied to a head dimension that the flash kernel of CUDA takes, and the result's
  /// additional columns.
  std::int64_t padding_bytes(const Block& block) const {
    const std::int64_t missing = (8 - problem_.head_dim % 8) % 8;
    if (!on_cuda() || kernel_ != SdpaKernel::flash || missing == 0) return 0;
    const std::int64_t copied =
        (block.rows() + 2 * block.columns()) * (problem_.head_dim + missing);
    return block.batch * heads_ * (copied + block.rows() * missing) * size_of(problem_.dtype);
  }

  /// LibTorch computes them whether anyone asks or not.
  std::int64_t log_sum_exp_bytes(const Block& block) const {
    return block.batch * heads_ * summed_rows(block.rows()) *
           static_cast<std::int64_t>(sizeof(float));
  }

  SdpaResult attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const TorchMask* mask, bool with_lse) const {
    std::optional<at::Tensor> bias;
    if (mask != nullptr) bias = mask->mask.unsqueeze(0);
    return run_sdpa_kernel(kernel_, {.q = q, .k = k, .v = v, .bias = bias},
                           static_cast<double>(problem_.scale), with_lse);
  }

  void run(const ForwardCall& call, const Block& block, const TorchMask* mask) const override {
    const at::Tensor q = view(call.q, block.queries, block.batch);
    const at::Tensor k = view_columns(call.k, block);
    const at::Tensor v = view_columns(call.v, block);
    at::Tensor o = view(call.o, block.queries, block.batch);
    const SdpaResult result = attend(q, k, v, mask, !call.lse.empty());
    o.copy_(result.o);
    if (mask != nullptr && mask->empty_rows.defined()) o.masked_fill_(mask->empty_rows, 0);
    write_lse(call, block, result.lse, mask);
  }

  Attended graph(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const Block& /*block*/, const TorchMask* mask) const override {
    SdpaResult result = attend(q, k, v, mask, /*with_lse=*/true);
    if (mask != nullptr && mask->empty_rows.defined()) {
      result.o = result.o.masked_fill(mask->empty_rows, 0);
    }
    return {.o = std::move(result.o), .lse = std::move(result.lse)};
  }

  SdpaKernel kernel_;
};

}  // namespace

std::unique_ptr<PreparedAttention> prepare_sdpa(const Problem& problem, SdpaKernel kernel,
                                                bool masked) {
  return std::make_unique<PreparedSdpa>(problem, kernel, masked);
}

}  // namespace attnscope
