#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tiles in which LibTorch's flash kernels for CUDA compute: their work is counted in whole
// tiles, regardless of the contents.

#include <cstdint>

namespace attnscope {

struct FlashTile {
  std::int64_t rows = 0;
  std::int64_t keys = 0;
  std::int64_t dim = 0;  // the head dimension of the kernel, to which smaller ones are padded
};

/// From aten/src/ATen/native/transformers/cuda/flash_attn/flash_fwd_launch_template.h without
/// dropout, on compute capability 8.0 and 9.0.
[[nodiscard]] FlashTile flash_forward_tile(std::int64_t head_dim);

/// From flash_bwd_launch_template.h, on devices with at least 144 KiB of shared memory per block.
[[nodiscard]] FlashTile flash_backward_tile(std::int64_t head_dim);

/// A rectangle of pairs: all of it, or the part within a window of `window` tokens to each side of
/// the diagonal.
struct FlashPairs {
  std::int64_t rows = 0, keys = 0;
  std::int64_t window = -1;  // -1: none
};

/// (Query, key) pairs that are multiplied: all pairs of every tile with an allowed pair.
[[nodiscard]] double pairs_in_tiles(const FlashPairs& pairs, const FlashTile& tile);

}  // namespace attnscope
