// SPDX-License-Identifier: Apache-2.0
//
// A piece of a linear layer: tiles of rows x two vectors of outputs, which are adjacent in a panel
// of packed weights, so that a number of a row is broadcast to a vector and used by two
// multiply-adds. Sums stay in the scratch until all inputs are processed. Every sum adds its
// inputs in ascending order, in chains of `linear_chain` additions that are then added up: a row's
// results are bitwise equal in every tile and in every instruction set with a fused multiply-add.
#pragma once

#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

// The operations of a linear layer on its sums: bias, activation, residual or gate, norm.

/// x times the normal distribution function of x, as in BERT. One tail beyond |x| is
/// erfc(|x| / sqrt(2)) / 2 = 2^(a p(a)) / 2, a = |x|, with p of degree 7 minimax on [0, 6] by the
/// result's error, 9e-9, and 0 for larger a, which changes results by at most 7e-9.
ATTNSCOPE_INLINE Vector gelu_of(Vector x) {
  const Vector zero{};
  const Vector a = x < zero ? zero - x : x;
  Vector p = multiply_add(a, splat(-1.90190235e-6f), splat(2.8054521e-5f));
  p = multiply_add(p, a, splat(-1.31459048e-4f));
  p = multiply_add(p, a, splat(-2.72117613e-4f));
  p = multiply_add(p, a, splat(7.24548707e-3f));
  p = multiply_add(p, a, splat(-5.26276641e-2f));
  p = multiply_add(p, a, splat(-0.459162116f));
  p = multiply_add(p, a, splat(-1.15111101f));
  const Vector beyond = a > splat(6.0f) ? zero : splat(0.5f) * exp2_of(p * a);
  return x * (x < zero ? beyond : splat(1.0f) - beyond);
}

/// Normalises a row in place. Two vectors of sums make consecutive additions independent.
[[gnu::noinline]] void normalise_row(const RowNorm& norm, float* y) {
  const std::int64_t whole = norm.width - norm.width % lanes, left = norm.width - whole;
  const float share = 1.0f / static_cast<float>(norm.width);
  const auto mean_of = [&](float beyond, const auto& value) {
    Vector first{}, second{};
    std::int64_t c = 0;
    for (; c + 2 * lanes <= whole; c += 2 * lanes) {
      first += value(load(y + c));
      second += value(load(y + c + lanes));
    }
    if (c < whole) first += value(load(y + c));
    if (left > 0) second += value(load_first(y + whole, left, beyond));
    return sum_of(first + second) * share;
  };
  const float mean = mean_of(0.0f, [](Vector v) { return v; });
  const Vector middle = splat(mean);
  const float variance = mean_of(mean, [&](Vector v) { return (v - middle) * (v - middle); });
  // For a variance beyond float32's range the scale would be 0, and the row only the norm's bias.
  const float beyond = variance - variance;
  const Vector scale = splat(1.0f / __builtin_sqrtf(variance + norm.epsilon) + beyond);
  for (std::int64_t c = 0; c < whole; c += lanes) {
    store(y + c,
          multiply_add((load(y + c) - middle) * scale, load(norm.weight + c), load(norm.bias + c)));
  }
  if (left > 0) {
    const auto last = [&](const float* p) { return load_first(p + whole, left, 0.0f); };
    store_first(y + whole, left,
                multiply_add((last(y) - middle) * scale, last(norm.weight), last(norm.bias)));
  }
}

/// Processes the sums row by row: tiles that write to distant rows would delay the streamed
/// weights, by a third if there are few rows.
/// The arguments of `sum_at` are a row and a vector's first output.
template <bool gelu, bool relu, typename SumAt>
ATTNSCOPE_INLINE void finish_rows(const LinearPiece& piece, const SumAt& sum_at) {
  for (std::int64_t r = 0; r < piece.rows; ++r) {
    float* y = piece.y + r * piece.y_stride;
    const float* rest = piece.rest == nullptr ? nullptr : piece.rest + r * piece.rest_stride;
    for (std::int64_t o = 0; o < piece.outputs; o += lanes) {
      const std::int64_t left = piece.outputs - o;
      const bool whole = left >= lanes;
      const auto read = [&](const float* p) { return whole ? load(p) : load_first(p, left, 0.0f); };
      Vector v = sum_at(r, o);
      if (piece.bias != nullptr) v += read(piece.bias + o);
      if constexpr (gelu) v = gelu_of(v);
      if constexpr (relu) v = v < Vector{} ? Vector{} : v;  // NaN stays NaN
      if (rest != nullptr) v = piece.rest_multiplies ? v * read(rest + o) : v + read(rest + o);
      if (whole) {
        store(y + o, v);
      } else {
        store_first(y + o, left, v);
      }
    }
    if (piece.norm.weight != nullptr) normalise_row(piece.norm, y);
  }
}

template <typename SumAt>
ATTNSCOPE_INLINE void finish_piece(const LinearPiece& piece, const SumAt& sum_at) {
  if (piece.gelu) {
    finish_rows<true, false>(piece, sum_at);
  } else if (piece.relu) {
    finish_rows<false, true>(piece, sum_at);
  } else {
    finish_rows<false, false>(piece, sum_at);
  }
}

/// The sums, two vectors of outputs and the number fill the registers of the set.
constexpr int linear_tile_rows = lanes == 16 ? 14 : (lanes == 8 ? 6 : 4);
constexpr int linear_tile_outputs = 2 * lanes;
constexpr std::int64_t floats_of_a_line = 16;
/// Tiles of wide vectors are slow enough to load weights from the second-level cache meanwhile;
/// others process as many inputs as keep their weights in the first-level cache from tile to tile.
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
