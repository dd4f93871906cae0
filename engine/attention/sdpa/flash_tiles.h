#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tiles in which LibTorch's flash kernels for CUDA compute: what they multiply is counted in
// whole tiles, whatever lies in them.

#include <cstdint>

namespace attnscope {

struct FlashTile {
  std::int64_t rows = 0;
  std::int64_t keys = 0;
  std::int64_t dim = 0;  // the head dimension of the kernel, to which others are filled up
};

/// aten/src/ATen/native/transformers/cuda/flash_attn/flash_fwd_launch_template.h without dropout,
/// on compute capability 8.0 and 9.0.
[[nodiscard]] FlashTile flash_forward_tile(std::int64_t head_dim);

/// flash_bwd_launch_template.h beside it, on devices with 144 KiB of shared memory a block or more.
[[nodiscard]] FlashTile flash_backward_tile(std::int64_t head_dim);

/// A part of a rectangle of tiles: all of it, or what a window of `window` tokens to either side of
/// the diagonal meets.
struct FlashPairs {
  std::int64_t rows = 0, keys = 0;
  std::int64_t window = -1;  // -1: none
};

/// (Query, key) pairs that are multiplied: those of every tile that holds an allowed one.
[[nodiscard]] double pairs_in_tiles(const FlashPairs& pairs, const FlashTile& tile);

}  // namespace attnscope
