// SPDX-License-Identifier: Apache-2.0
//
// The product of both the values step and its transpose: a group of outputs, each a weighted sum
// over a window of rows that slides with the output. Outputs stay in registers and share each row
// they load; a pair outside its window is never multiplied.
#pragma once

#include "kernels/cpu/inner/key_window.h"

namespace attnscope::cpu {
namespace {

/// Outputs of a group: with two vectors of each, enough sums to hide the latency of a multiply-add.
/// The windows of a larger group would overlap too little at w = 4.
constexpr int group_size = 4;

/// The window [begin, end) of each output of a group; both ends ascend with the outputs.
struct GroupWindow {
  std::int64_t begin[group_size];
  std::int64_t end[group_size];
};

/// The part of a window within [first, first + count), counted from `first`; empty windows keep
/// their order.
ATTNSCOPE_INLINE void set_window(GroupWindow& window, int g, Positions seen, std::int64_t first,
                                 std::int64_t count) {
  window.begin[g] = clamped(seen.begin - first, 0, count);
  window.end[g] = most(clamped(seen.end - first, 0, count), window.begin[g]);
}

/// Outputs past the group's last have empty windows after all others.
ATTNSCOPE_INLINE void close_windows(GroupWindow& window, int outputs) {
  for (int g = outputs; g < group_size; ++g) {
    window.begin[g] = window.end[g] = window.end[outputs - 1];
  }
}

/// Whether the bound increases by one row from output to output, as inside a sequence.
ATTNSCOPE_INLINE bool slides(const std::int64_t (&bound)[group_size]) {
  return bound[1] == bound[0] + 1 && bound[2] == bound[0] + 2 && bound[3] == bound[0] + 3;
}

template <int Width>
ATTNSCOPE_INLINE void load_values(const float* value, Vector (&v)[Width]) {
#pragma GCC unroll 4
  for (int x = 0; x < Width; ++x) v[x] = load(value + x * lanes);
}

template <int Width>
ATTNSCOPE_INLINE void add_product(float weight, const Vector (&v)[Width], Vector (&sum)[Width]) {
  const Vector p = splat(weight);
#pragma GCC unroll 4
  for (int x = 0; x < Width; ++x) sum[x] += p * v[x];
}

/// Rows [begin, end), any of which may be outside an output's window.
template <int Width, typename Weight>
ATTNSCOPE_INLINE void add_edge(const GroupWindow& window, std::int64_t begin, std::int64_t end,
                               const Weight& weight, const float* values, std::int64_t padded,
                               Vector (&sum)[group_size][Width]) {
  for (std::int64_t p = begin; p < end; ++p) {
    Vector v[Width];
    load_values(values + p * padded, v);
#pragma GCC unroll 4
    for (int g = 0; g < group_size; ++g) {
      if (window.begin[g] <= p && p < window.end[g]) add_product(weight(g, p), v, sum[g]);
    }
  }
}

/// sum[g] += weight(g, p) * value[p] over the window of g.
template <int Width, typename Weight>
ATTNSCOPE_INLINE void add_windows(const GroupWindow& window, const Weight& weight,
                                  const float* values, std::int64_t padded,
                                  Vector (&sum)[group_size][Width]) {
  constexpr int last = group_size - 1;
  const std::int64_t all_begin = window.begin[last], all_end = window.end[0];
  if (all_begin >= all_end) {
    return add_edge(window, window.begin[0], window.end[last], weight, values, padded, sum);
  }
  if (slides(window.begin)) {
#pragma GCC unroll 4
    for (int r = 0; r < last; ++r) {
      Vector v[Width];
      load_values(values + (window.begin[0] + r) * padded, v);
#pragma GCC unroll 4
      for (int g = 0; g <= r; ++g) add_product(weight(g, window.begin[0] + r), v, sum[g]);
    }
  } else {
    add_edge(window, window.begin[0], all_begin, weight, values, padded, sum);
  }
#pragma GCC unroll 2
  for (std::int64_t p = all_begin; p < all_end; ++p) {
    Vector v[Width];
    load_values(values + p * padded, v);
#pragma GCC unroll 4
    for (int g = 0; g < group_size; ++g) add_product(weight(g, p), v, sum[g]);
  }
  if (slides(window.end)) {
#pragma GCC unroll 4
    for (int r = 0; r < last; ++r) {
      Vector v[Width];
      load_values(values + (all_end + r) * padded, v);
#pragma GCC unroll 4
      for (int g = r + 1; g <= last; ++g) add_product(weight(g, all_end + r), v, sum[g]);
    }
  } else {
    add_edge(window, all_end, window.end[last], weight, values, padded, sum);
  }
}

/// The group's sums start at 0 and are added to the outputs at the end: sums of sums lose less to
/// rounding than one sum over thousands of rows.
template <int Width, typename Weight>
ATTNSCOPE_INLINE void add_windows_to(const GroupWindow& window, const Weight& weight,
                                     const float* values, std::int64_t padded, int outputs,
                                     float* const* out) {
  Vector sum[group_size][Width] = {};
  add_windows(window, weight, values, padded, sum);
#pragma GCC unroll 4
  for (int g = 0; g < group_size; ++g) {
    for (int x = 0; x < Width && g < outputs; ++x) {
      store(out[g] + x * lanes, load(out[g] + x * lanes) + sum[g][x]);
    }
  }
}

/// out[g][0 ... padded) += sum over p in window g of weight(g, p) * value[p], for the first
/// `outputs` of the group.
template <typename Weight>
ATTNSCOPE_INLINE void add_windows_to(const GroupWindow& window, const Weight& weight,
                                     const float* values, std::int64_t padded, int outputs,
                                     float* const* out) {
  float* to[group_size];
  for (int g = 0; g < outputs; ++g) to[g] = out[g];
  std::int64_t c = 0;
  for (; c + 2 * lanes <= padded; c += 2 * lanes) {
    add_windows_to<2>(window, weight, values + c, padded, outputs, to);
    for (int g = 0; g < outputs; ++g) to[g] += 2 * lanes;
  }
  if (c < padded) add_windows_to<1>(window, weight, values + c, padded, outputs, to);
}

}  // namespace
}  // namespace attnscope::cpu
