// SPDX-License-Identifier: Apache-2.0
//
// A piece of a linear layer: tiles of rows x two vectors of outputs, which are adjacent in a panel
// of packed weights, so that a number of a row is broadcast to a vector and used by two
// multiply-adds. Sums stay in the scratch until all inputs are processed. Every sum takes its
// inputs in ascending order, in chains of `linear_chain` additions that are then added up: a row's
// results are bitwise equal in every tile and in every instruction set with a fused multiply-add.
#pragma once

#include "kernels/cpu/inner/linear_sums.h"
#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

/// With the two vectors of outputs and the number, the sums fill the set's registers.
constexpr int linear_tile_rows = lanes == 16 ? 14 : (lanes == 8 ? 6 : 4);
constexpr int linear_tile_outputs = 2 * lanes;
constexpr std::int64_t floats_of_a_line = 16;
/// Tiles of wide vectors take long enough to load weights from the second-level cache meanwhile;
/// others take as many inputs as keep their weights in the first-level cache from tile to tile.
constexpr bool weights_stream = lanes == 16;
constexpr std::int64_t linear_tile_depth = weights_stream ? linear_depth : linear_chain;

/// sums[row][output], rows linear_panel apart, of a tile of one or two vectors of outputs over
/// `depth` inputs; added to the previous sums unless it `begins`. If weights are streamed,
/// prefetches those of this panel shortly before use, and a line of `ahead` with every input.
template <int rows, int vectors>
[[gnu::noinline]] void linear_tile(const float* x, const float* weights, std::int64_t depth,
                                   const float* ahead, bool begins, float* sums) {
  constexpr std::int64_t inputs_ahead = 16;
  for (std::int64_t begin = 0; begin < depth; begin += linear_chain) {
    const std::int64_t end = depth - begin < linear_chain ? depth : begin + linear_chain;
    Vector sum[rows][vectors] = {};
#pragma GCC unroll 2
    for (std::int64_t c = begin; c < end; ++c) {
      const float* w = weights + c * linear_panel;
      if constexpr (weights_stream) {
        __builtin_prefetch(w + inputs_ahead * linear_panel, 0, 3);
        __builtin_prefetch(w + inputs_ahead * linear_panel + lanes, 0, 3);
        __builtin_prefetch(ahead + c * floats_of_a_line, 0, 2);
      }
      const Vector first = load(w), second = load(w + (vectors - 1) * lanes);
#pragma GCC unroll 14
      for (int r = 0; r < rows; ++r) {
        const Vector number = splat(x[r * linear_pitch + c]);
        sum[r][0] = multiply_add(number, first, sum[r][0]);
        if constexpr (vectors > 1) sum[r][1] = multiply_add(number, second, sum[r][1]);
      }
    }
    const bool starts = begins && begin == 0;
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        float* to = sums + r * linear_panel + v * lanes;
        store(to, starts ? sum[r][v] : load(to) + sum[r][v]);
      }
    }
  }
}

/// A tile of `count` rows, 1 to `rows`.
template <int vectors, int rows = linear_tile_rows>
ATTNSCOPE_INLINE void linear_tile_of(std::int64_t count, const float* x, const float* weights,
                                     std::int64_t depth, const float* ahead, bool begins,
                                     float* sums) {
  if constexpr (rows > 1) {
    if (count < rows)
      return linear_tile_of<vectors, rows - 1>(count, x, weights, depth, ahead, begins, sums);
  }
  linear_tile<rows, vectors>(x, weights, depth, ahead, begins, sums);
}

/// Copies some inputs of the piece's rows to its scratch.
ATTNSCOPE_INLINE void gather_rows(const LinearPiece& piece, std::int64_t first_input,
                                  std::int64_t depth) {
  for (std::int64_t r = 0; r < piece.rows; ++r) {
    const float* from = piece.x + r * piece.x_stride + first_input;
    float* to = piece.scratch + r * linear_pitch;
    std::int64_t c = 0;
    for (; c + lanes <= depth; c += lanes) {
      __builtin_prefetch(from + piece.x_stride + c, 0, 3);
      store(to + c, load(from + c));
    }
    for (; c < depth; ++c) to[c] = from[c];
  }
}

ATTNSCOPE_INLINE void float_piece(const LinearPiece& piece) {
  float* sums = piece.scratch + piece.rows * linear_pitch;  // [panel][row][output]
  const auto* all_weights = reinterpret_cast<const float*>(piece.weights);
  const std::int64_t tiles = (piece.rows + linear_tile_rows - 1) / linear_tile_rows;
  for (std::int64_t first = 0; first < piece.in; first += linear_depth) {
    const std::int64_t left = piece.in - first;
    const std::int64_t depth = left < linear_depth ? left : linear_depth;
    if (!piece.in_scratch) gather_rows(piece, first, depth);
    for (std::int64_t output = 0; output < piece.outputs; output += linear_tile_outputs) {
      const std::int64_t panel = output / linear_panel;
      const float* weights = all_weights + (panel * piece.in + first) * linear_panel;
      // The next panel, half of its lines with each tile.
      const float* next = weights;
      if ((panel + 1) * linear_panel < piece.outputs) {
        next += piece.in * linear_panel;
      } else if (depth < left) {
        next = all_weights + (first + depth) * linear_panel;
      }
      const bool half = piece.outputs - output <= lanes;
      const auto tile = half ? linear_tile_of<1> : linear_tile_of<2>;
      for (std::int64_t c = 0; c < depth; c += linear_tile_depth) {
        const std::int64_t inputs = depth - c < linear_tile_depth ? depth - c : linear_tile_depth;
        for (std::int64_t t = 0; t < tiles; ++t) {
          const std::int64_t row = t * piece.rows / tiles, end = (t + 1) * piece.rows / tiles;
          tile(end - row, piece.scratch + row * linear_pitch + c,
               weights + output % linear_panel + c * linear_panel, inputs,
               next + (t % 2 * depth + c) * floats_of_a_line, first + c == 0,
               sums + (panel * piece.rows + row) * linear_panel + output % linear_panel);
        }
      }
    }
  }
  finish_piece(piece, [&](std::int64_t r, std::int64_t o) {
    return load(sums + (o / linear_panel * piece.rows + r) * linear_panel + o % linear_panel);
  });
}

}  // namespace
}  // namespace attnscope::cpu
