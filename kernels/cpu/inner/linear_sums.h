// SPDX-License-Identifier: Apache-2.0
//
// The operations of a linear layer on its sums: bias, activation, residual or gate, norm.
#pragma once

#include "kernels/cpu/inner/row_tails.h"
#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

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

/// In place. Two vectors of sums, so that additions do not depend on each other.
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
/// `sum_at` takes a row and a vector's first output.
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

}  // namespace
}  // namespace attnscope::cpu
