// SPDX-License-Identifier: Apache-2.0
//
// Attention with a block mask, as FlexAttention computes it (Dong et al., "Flex Attention: A
// Programming Model for Generating Optimized Attention Kernels", 2024): an item's scores are
// divided into tiles of 128 x 128; tiles without an allowed pair are skipped, the others are
// computed densely, with a mask for those with a forbidden pair. FlexAttention's kernel iterates
// over the tiles of a row; here LibTorch's operations gather the keys of a row, with one product
// for all rows of the same number of tiles.

#include <ATen/ops/_softmax.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "engine/attention/prepared_blocks.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

constexpr std::int64_t tile_size = 128;  // tokens, FlexAttention's default

std::int64_t tiles_of(std::int64_t tokens) {
  return (tokens + tile_size - 1) / tile_size;
}

/// Rows of tiles with the same number of key tiles: one product for all of them.
struct TileGroup {
  std::int64_t width = 0;            // tiles of keys
  bool masked = false;               // some tile has a forbidden pair
  std::vector<std::int64_t> rows{};  // rows of tiles
  std::vector<std::int64_t> keys{};  // `width` tiles of keys for each
  at::Tensor row_index{}, key_index{};
  at::Tensor mask{};  // [rows, tile, width * tile]
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(rows.size()); }
  [[nodiscard]] std::int64_t scores() const { return count() * tile_size * width * tile_size; }
};

/// If masks differ between heads, a row of tiles belongs to one head, and the tiles of the heads
/// are consecutive; otherwise all heads share them.
struct TiledBlock {
  Block block{};
  std::int64_t masks = 1;     // number of different masks
  std::int64_t matrices = 0;  // number of matrices that share the tiles
  std::int64_t row_tiles = 0, key_tiles = 0;
  std::vector<TileGroup> groups{};
  bool any_empty = false;   // some row has no key
  at::Tensor empty_rows{};  // bool [masks, rows, 1]
  bool is_ready = false;
};

at::Tensor index_of(const std::vector<std::int64_t>& numbers, at::Device device) {
  at::Tensor index = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::ranges::copy(numbers, index.data_ptr<std::int64_t>());
  return index.to(device);
}

class PreparedFlexBlocks final : public PreparedBlocks {
 public:
  explicit PreparedFlexBlocks(const Problem& problem)
      : PreparedBlocks(problem, /*masked=*/false, {}), tasks_(problem.plan) {
    for (const Block& block : blocks_) tiled_.push_back(cut(block));
  }

  ExecutedWork executed() const override {
    ExecutedWork work;
    const auto element = static_cast<double>(size_of(problem_.dtype));
    const auto dim = static_cast<double>(problem_.head_dim);
    const bool both = with_gradients();
    for (const TiledBlock& tiled : tiled_) {
      for (const TileGroup& group : tiled.groups) {
        const auto scores = static_cast<double>(tiled.matrices * group.scores());
        const double rows = static_cast<double>(tiled.matrices * group.count() * tile_size) * dim;
        const double keys = rows * static_cast<double>(group.width);
        // Two products forward; backward the gradients of both operands of each.
        work.flop += 2 * (both ? 6.0 : 2.0) * scores * dim;
        // Scores are written by one product and read by the other; mask and softmax each read and
        // write. Rows and keys are gathered and read; the output is written and copied to its
        // tensor.
        double of_scores = 2.0 + (group.masked ? 2 : 0) + (is_attention() ? 2 : 0);
        double of_rows = 6;
        double of_keys = 6;
        if (both) {
          // The same as in dense; gradients of gathered values are also written, read and added.
          of_scores += 4.0 + (is_attention() ? 3 : (group.masked ? 2 : 0));
          of_rows += 10;
          of_keys += 8;
        }
        work.bytes += element * (of_scores * scores + of_rows * rows + of_keys * keys);
      }
    }
    return work;
  }

 protected:
  /// Padded tensors; a group's scores and its gathered operands, kept for a backward. During a
  /// backward gathered keys and their gradients are temporarily float32, and so is the sum of the
  /// latter.
  BlockBytes bytes_of(const Block& block) const override {
    const TiledBlock& tiled = tiled_of(block);
    const std::int64_t element = size_of(problem_.dtype);
    const std::int64_t dim = problem_.head_dim;
    const std::int64_t rows = tiled.matrices * tiled.masks * tiled.row_tiles * tile_size * dim;
    const std::int64_t keys = tiled.matrices * tiled.masks * tiled.key_tiles * tile_size * dim;
    BlockBytes bytes{.kept = element * (2 * rows + 4 * keys)};
    for (const TileGroup& group : tiled.groups) {
      const std::int64_t scores = tiled.matrices * group.scores();
      const std::int64_t of_rows = tiled.matrices * group.count() * tile_size * dim;
      const std::int64_t of_keys = of_rows * group.width;
      const std::int64_t gathered = element * (2 * of_rows + 2 * of_keys);
      if (!with_gradients()) {
        bytes.working = std::max(bytes.working, element * scores + gathered);
        continue;
      }
      bytes.kept += element * scores + gathered;
      bytes.working =
          std::max(bytes.working, element * (2 * scores + 2 * of_rows + of_keys) + 2 * 4 * of_keys);
    }
    if (with_gradients()) bytes.working += (2 * element + 2 * 4) * keys + 2 * element * rows;
    return bytes;
  }

  /// Masks and lists of all blocks, and the packing buffers of 16-bit products.
  std::int64_t library_bytes() const override {
    std::int64_t bytes = 0;
    for (const TiledBlock& tiled : tiled_) {
      for (const TileGroup& group : tiled.groups) {
        if (group.masked) bytes += group.scores() * size_of(problem_.dtype);
        bytes += 8 * group.count() * (1 + group.width);
      }
      if (tiled.any_empty) bytes += tiled.masks * tiled.block.rows();
    }
    const bool packs = !on_cuda() && problem_.dtype != DType::float32;
    return bytes + (packs ? problem_.threads * product_blocks_of_a_thread : 0);
  }

  void run(const ForwardCall& call, const Block& block, const TorchMask* /*mask*/) const override {
    view(call.o, block.queries, block.batch)
        .copy_(attend(view(call.q, block.queries, block.batch), view_columns(call.k, block),
                      view_columns(call.v, block), block));
  }

  Attended graph(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Block& block,
                 const TorchMask* /*mask*/) const override {
    return {.o = attend(q, k, v, block), .lse = {}};
  }

 private:
  bool is_attention() const { return problem_.operation == Operation::attention; }
  TiledBlock& tiled_of(const Block& block) const {
    return tiled_[static_cast<std::size_t>(&block - blocks_.data())];
  }

  /// Determines the needed tiles; masks are made in the first call, because a prediction must be
  /// available before memory of their size is used.
  TiledBlock cut(const Block& block) const {
    TiledBlock tiled{.block = block, .masks = tasks_.differs_by_head() ? heads_ : 1};
    tiled.matrices = block.batch * heads_ / tiled.masks;
    tiled.row_tiles = tiles_of(block.rows());
    tiled.key_tiles = tiles_of(block.columns());
    std::map<std::pair<std::int64_t, bool>, TileGroup> groups;
    for (std::int64_t head = 0; head < tiled.masks; ++head) {
      for (std::int64_t row_tile = 0; row_tile < tiled.row_tiles; ++row_tile) {
        add_row(tiled, head, row_tile, groups);
      }
    }
    for (auto& [key, group] : groups) tiled.groups.push_back(std::move(group));
    return tiled;
  }

  void add_row(TiledBlock& tiled, std::int64_t head, std::int64_t row_tile,
               std::map<std::pair<std::int64_t, bool>, TileGroup>& groups) const {
    std::vector<std::int64_t> pairs(static_cast<std::size_t>(tiled.key_tiles), 0);
    for_each_row(tiled, head, row_tile, [&](std::int64_t, const std::vector<TokenRange>& seen) {
      tiled.any_empty = tiled.any_empty || seen.empty();
      for_each_part(seen, [&](std::int64_t key_tile, TokenRange part) {
        pairs[static_cast<std::size_t>(key_tile)] += part.size();
      });
    });
    std::vector<std::int64_t> needed;
    bool masked = false;
    const std::int64_t rows = std::min(tile_size, tiled.block.rows() - row_tile * tile_size);
    for (std::int64_t t = 0; t < tiled.key_tiles; ++t) {
      const std::int64_t allowed = pairs[static_cast<std::size_t>(t)];
      if (allowed == 0) continue;
      needed.push_back(head * tiled.key_tiles + t);
      masked = masked || allowed < rows * tile_size;
    }
    if (needed.empty()) return;
    const auto width = static_cast<std::int64_t>(needed.size());
    TileGroup& group = groups[{width, masked}];
    group.width = width;
    group.masked = masked;
    group.rows.push_back(head * tiled.row_tiles + row_tile);
    group.keys.insert(group.keys.end(), needed.begin(), needed.end());
  }

  /// Calls visit(row of the tile, its columns).
  template <typename Visit>
  void for_each_row(const TiledBlock& tiled, std::int64_t head, std::int64_t row_tile,
                    const Visit& visit) const {
    const std::int64_t end = std::min((row_tile + 1) * tile_size, tiled.block.rows());
    for (std::int64_t row = row_tile * tile_size; row < end; ++row) {
      visit(row - row_tile * tile_size, visible_columns(problem_.plan, tasks_, tiled.block, row,
                                                        static_cast<std::int32_t>(head)));
    }
  }
  /// Calls visit(tile of keys, its visible part).
  template <typename Visit>
  static void for_each_part(const std::vector<TokenRange>& seen, const Visit& visit) {
    for (const TokenRange& run : seen) {
      for (std::int64_t t = run.begin / tile_size; t * tile_size < run.end; ++t) {
        visit(t, TokenRange{std::max(run.begin, t * tile_size),
                            std::min(run.end, (t + 1) * tile_size)});
      }
    }
  }

  /// Rows without keys, from the pattern or from padding, are visible everywhere: the softmax of no
  /// keys would be NaN.
  at::Tensor mask_of(const TiledBlock& tiled, const TileGroup& group) const {
    const float visible = is_attention() ? 0.0F : 1.0F;
    const float hidden = is_attention() ? -std::numeric_limits<float>::infinity() : 0.0F;
    const std::int64_t columns = group.width * tile_size;
    const at::Tensor mask = at::full({group.count(), tile_size, columns}, visible, at::kFloat);
    auto* data = mask.data_ptr<float>();
    for (std::int64_t r = 0; r < group.count(); ++r) {
      const std::int64_t unit = group.rows[static_cast<std::size_t>(r)];
      const std::int64_t head = unit / tiled.row_tiles;
      const auto first = group.keys.begin() + r * group.width;
      for_each_row(tiled, head, unit % tiled.row_tiles,
                   [&](std::int64_t row, const std::vector<TokenRange>& seen) {
                     if (seen.empty()) return;
                     float* line = data + (r * tile_size + row) * columns;
                     std::fill_n(line, columns, hidden);
                     for_each_part(seen, [&](std::int64_t t, TokenRange part) {
                       const std::int64_t number = head * tiled.key_tiles + t;
                       const std::int64_t slot =
                           std::lower_bound(first, first + group.width, number) - first;
                       std::fill_n(line + slot * tile_size + part.begin - t * tile_size,
                                   part.size(), visible);
                     });
                   });
    }
    return mask.to(scalar_type(problem_.dtype)).to(torch_device(problem_.device));
  }

  at::Tensor empty_rows_of(const TiledBlock& tiled) const {
    const at::Tensor empty = at::zeros({tiled.masks, tiled.block.rows(), 1}, at::kBool);
    bool* flag = empty.data_ptr<bool>();
    for (std::int64_t head = 0; head < tiled.masks; ++head) {
      for (std::int64_t row_tile = 0; row_tile < tiled.row_tiles; ++row_tile) {
        for_each_row(tiled, head, row_tile, [&](std::int64_t, const std::vector<TokenRange>& seen) {
          *flag++ = seen.empty();
        });
      }
    }
    return empty.to(torch_device(problem_.device));
  }

  const TiledBlock& ready(const Block& block) const {
    TiledBlock& tiled = tiled_of(block);
    if (tiled.is_ready) return tiled;
    const at::Device device = torch_device(problem_.device);
    for (TileGroup& group : tiled.groups) {
      group.row_index = index_of(group.rows, device);
      group.key_index = index_of(group.keys, device);
      if (group.masked) group.mask = mask_of(tiled, group);
    }
    if (tiled.any_empty) tiled.empty_rows = empty_rows_of(tiled);
    tiled.is_ready = true;
    return tiled;
  }

  /// [batch, heads, tokens, dim] as [matrices, tiles, tile * dim], padded with zeros.
  static at::Tensor in_tiles(const TiledBlock& tiled, const at::Tensor& rows, std::int64_t tiles) {
    const std::int64_t missing = tiles * tile_size - rows.size(2);
    const at::Tensor padded = missing == 0 ? rows : at::constant_pad_nd(rows, {0, 0, 0, missing});
    return padded.reshape({tiled.matrices, tiled.masks * tiles, tile_size * rows.size(3)});
  }

  /// Gradients of keys are summed in float32, because many rows of tiles may share keys.
  at::Tensor sources(const TiledBlock& tiled, const at::Tensor& keys) const {
    const at::Tensor tiles = in_tiles(tiled, keys, tiled.key_tiles);
    return with_gradients() ? tiles.to(at::kFloat) : tiles;
  }

  at::Tensor gathered(const at::Tensor& tiles, const at::Tensor& index,
                      std::int64_t products) const {
    return tiles.index_select(1, index)
        .to(scalar_type(problem_.dtype))
        .view({products, -1, problem_.head_dim});
  }

  at::Tensor weights_of(const TiledBlock& tiled, const TileGroup& group, const at::Tensor& q,
                        const at::Tensor& k) const {
    const at::Tensor transposed = k.transpose(1, 2);
    at::Tensor weights = with_gradients() ? scaled_product_in_graph(q, transposed, problem_.scale)
                                          : scaled_product(q, transposed, problem_.scale);
    if (group.masked) {
      at::Tensor by_matrix =
          weights.view({tiled.matrices, group.count(), tile_size, group.width * tile_size});
      if (with_gradients()) {
        by_matrix = is_attention() ? by_matrix.add(group.mask) : by_matrix.mul(group.mask);
        weights = by_matrix.view(weights.sizes());
      } else if (is_attention()) {
        by_matrix.add_(group.mask);
      } else {
        by_matrix.mul_(group.mask);
      }
    }
    if (!is_attention()) return weights;
    if (with_gradients()) return at::_softmax(weights, -1, /*half_to_float=*/false);
    at::_softmax_out(weights, weights, -1, /*half_to_float=*/false);
    return weights;
  }

  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const Block& block) const {
    const TiledBlock& tiled = ready(block);
    const at::Tensor rows = in_tiles(tiled, q, tiled.row_tiles);
    const at::Tensor keys = sources(tiled, k);
    const at::Tensor values = sources(tiled, v);
    at::Tensor o = at::zeros(rows.sizes(), rows.options().requires_grad(false));
    for (const TileGroup& group : tiled.groups) {
      const std::int64_t products = tiled.matrices * group.count();
      const at::Tensor weights = weights_of(tiled, group, gathered(rows, group.row_index, products),
                                            gathered(keys, group.key_index, products));
      o.index_copy_(1, group.row_index,
                    at::bmm(weights, gathered(values, group.key_index, products))
                        .view({tiled.matrices, group.count(), -1}));
    }
    o = o.view({block.batch, heads_, tiled.row_tiles * tile_size, problem_.head_dim})
            .narrow(2, 0, block.rows());
    return tiled.any_empty ? o.masked_fill(tiled.empty_rows, 0) : o;
  }

  TaskIndex tasks_;
  mutable std::vector<TiledBlock> tiled_;  // per block; masks are made in its first call
};

}  // namespace

std::vector<Implementation> flex_blocks_implementations() {
  return {
      {.id = "flex-blocks",
       .summary =
           "a block mask like FlexAttention's, in LibTorch's operations: tiles of 128 x 128 "
           "without an allowed pair are skipped, the keys of the others gathered for their rows, "
           "dense products with one softmax per row, all timed; the list of tiles, and the masks "
           "of partly allowed tiles, are made once per layout, not timed; backward by autograd, "
           "keys' gradients summed in float32",
       .prepare = [](const Problem& problem) {
         return std::make_unique<PreparedFlexBlocks>(problem);
       }}};
}

}  // namespace attnscope
