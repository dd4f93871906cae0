// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/flash_tiles.h"

#include <algorithm>
#include <array>

namespace attnscope {
namespace {

FlashTile tile_of(const std::array<FlashTile, 6>& tiles, std::int64_t head_dim) {
  const auto* tile =
      std::ranges::find_if(tiles, [head_dim](const FlashTile& one) { return head_dim <= one.dim; });
  return tile == tiles.end() ? tiles.back() : *tile;
}

std::int64_t up_to_whole(std::int64_t size, std::int64_t tile) {
  return (size + tile - 1) / tile * tile;
}

}  // namespace

FlashTile flash_forward_tile(std::int64_t head_dim) {
  static constexpr std::array<FlashTile, 6> tiles{{{128, 128, 32},
                                                   {128, 128, 64},
                                                   {128, 64, 96},
                                                   {128, 64, 128},
                                                   {128, 64, 192},
                                                   {128, 64, 256}}};
  return tile_of(tiles, head_dim);
}

FlashTile flash_backward_tile(std::int64_t head_dim) {
  static constexpr std::array<FlashTile, 6> tiles{{{128, 128, 32},
                                                   {128, 128, 64},
                                                   {64, 128, 96},
                                                   {64, 128, 128},
                                                   {64, 64, 192},
                                                   {64, 64, 256}}};
  return tile_of(tiles, head_dim);
}

double pairs_in_tiles(const FlashPairs& pairs, const FlashTile& tile) {
  const std::int64_t all_keys = up_to_whole(pairs.keys, tile.keys);
  std::int64_t sum = 0;
  for (std::int64_t row = 0; row < pairs.rows; row += tile.rows) {
    std::int64_t begin = 0;
    std::int64_t end = all_keys;
    if (pairs.window >= 0) {
      begin = std::max<std::int64_t>(0, row - pairs.window) / tile.keys * tile.keys;
      end = std::min(all_keys, up_to_whole(row + tile.rows + pairs.window, tile.keys));
    }
    sum += tile.rows * std::max<std::int64_t>(0, end - begin);
  }
  return static_cast<double>(sum);
}

}  // namespace attnscope
