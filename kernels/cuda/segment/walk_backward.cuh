#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Backward for narrow windows and 16-bit numbers: walks along rows (grad_q) and along keys (grad_k,
// grad_v), the plan transposed. What stands still is a strip of 16 rows or keys, what passes by are
// the other ones, 16 at a time: the globals, then the window. With the weights known from the
// log-sum-exp there is no maximum, so that nothing of a strip but its sums outlives 16 of them.
//
//             stands still   passes by   sums
//   rows      q, grad_o      k, v        grad_q += dS k
//   keys      k, v           q, grad_o   grad_k += dS^T q, grad_v += P^T grad_o
//
// In both the scores are the first of what stands still times the first of what passes by, and dP
// the second times the second. Memory is read and written as in walk.cuh.

#include "kernels/cuda/segment/walk.cuh"

namespace attnscope::cuda {

/// Of what passes by, the tensors whose values are summed up: one, or, past keys, two.
template <bool Keys>
inline constexpr int walk_gradients = Keys ? 2 : 1;

/// In units of log2. A row without keys has no weights: +inf makes them 0, where -inf would make
/// them infinite.
struct RowNumbers {
  float subtrahend = 0.0f;  // log-sum-exp
  float dot = 0.0f;         // D = grad_o . o

  __device__ __forceinline__ void read(const BackwardWalkArguments& call, std::int64_t token,
                                       int head) {
    const std::int64_t at = token * call.walk.heads + head;
    const float lse = __ldg(call.lse + at);
    subtrahend = lse == minus_infinity ? -minus_infinity : lse * log2_e;
    dot = __ldg(call.dots + at);
  }
};

/// Two tiles that pass by; bits 2 u, 2 u + 1 of `spoilt[i]`: the lane's numbers of tile u have
/// values of tensor i that are not finite.
template <int Columns, bool Keys>
struct PassingTiles {
  static constexpr int summed = walk_gradients<Keys>;

  RowShare<Columns> first[2], second[2];
  ValueTile<Columns> values[summed][2];
  RowNumbers numbers[Keys ? 2 : 1][2];  // of queries 2 t and 2 t + 1
  unsigned spoilt[summed] = {};

  /// Tile u; `token(i)` is its token i, counted from `origin` on; `row(tensor, token)` is the
  /// lane's share of a row as RowShare reads it, `values_of` as ValueTile does.
  template <typename Token, typename Row, typename ValuesOf>
  __device__ __forceinline__ void read(int u, const BackwardWalkArguments& call, int head,
                                       int origin, const Token& token, const Row& row,
                                       const ValuesOf& values_of) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int column = 2 * (lane & 3);
    const int mine = token(lane >> 2);
    first[u].read(row(0, mine));
    second[u].read(row(1, mine));
    const int even = token(column), odd = token(column + 1);
#pragma unroll
    for (int i = 0; i < summed; ++i) {
      values[i][u].read(values_of(i, even), values_of(i, odd));
    }
    if constexpr (Keys) {
      numbers[u][0].read(call, origin + even, head);
      numbers[u][1].read(call, origin + odd, head);
    }
  }

  /// By all lanes of the warp, when both tiles are read, or the first alone.
  template <typename T, int Count>
  __device__ __forceinline__ void clean_values() {
#pragma unroll
    for (int i = 0; i < summed; ++i) {
      spoilt[i] = 0;
      clean<T, 0, Count>(values[i], spoilt[i]);
    }
  }
};

/// 16 rows or keys that stand still, and their sums.
template <typename T, int Columns, bool Keys>
struct StandingStrip {
  static constexpr int gradients = walk_gradients<Keys>;

  QueryFragments<Columns> first, second;
  RowNumbers numbers[2];  // of rows g and g + 8
  float sums[gradients][Columns / 8][4];

  /// `count` rows; row(tensor, i) is the lane's share of row i of a tensor.
  template <typename Row>
  __device__ __forceinline__ void begin(int count, const Row& row) {
    const int g = (static_cast<int>(threadIdx.x) & 31) >> 2;
    const int low = min(g, count - 1), high = min(g + 8, count - 1);
    RowShare<Columns> a, b;
    a.read(row(0, low));
    b.read(row(0, high));
    first.put(a, b);
    a.read(row(1, low));
    b.read(row(1, high));
    second.put(a, b);
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
#pragma unroll
      for (int n = 0; n < Columns / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][n][e] = 0.0f;
      }
    }
  }

  /// Takes `Count` tiles; bits 2 u, 2 u + 1 of seen[h] are what the lane's row g + 8 h sees of tile
  /// u. By all lanes of the warp.
  template <int Count>
  __device__ __forceinline__ void take(const PassingTiles<Columns, Keys>& tiles,
                                       const unsigned (&seen)[2], float factor) {
    std::uint32_t weights[gradients][4] = {};  // dS, and P of keys
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      float s[4] = {}, gradient[4] = {};
      add_scores<T>(s, first, tiles.first[u]);
      add_scores<T>(gradient, second, tiles.second[u]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const RowNumbers& of_row = !Keys ? numbers[e >> 1] : tiles.numbers[Keys ? u : 0][e & 1];
        const float weight = exp2_approx(fmaf(s[e], factor, -of_row.subtrahend));
        const float by_score = weight * (gradient[e] - of_row.dot);
        const bool counts = (seen[e >> 1] >> (2 * u + (e & 1)) & 1u) != 0;
        s[e] = counts ? weight : 0.0f;
        gradient[e] = counts ? by_score : 0.0f;
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        weights[0][2 * u + h] = pair_of<T>(gradient[2 * h], gradient[2 * h + 1]);
        if (gradients == 2) weights[gradients - 1][2 * u + h] = pair_of<T>(s[2 * h], s[2 * h + 1]);
      }
    }
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      if (tiles.spoilt[i] != 0) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const unsigned bits = seen[h] & tiles.spoilt[i];
#pragma unroll
          for (int u = 0; u < Count; ++u) {
            weights[i][2 * u + h] = with_nan(weights[i][2 * u + h], bits >> 2 * u);
          }
        }
      }
      __syncwarp();
#pragma unroll
      for (int n = 0; n < Columns / 8; ++n) {
        multiply_add<T>(sums[i][n], weights[i], tiles.values[i][0].pair[n],
                        tiles.values[i][Count - 1].pair[n]);
      }
    }
  }

  /// Writes the lane's share of row g + 8 h of a gradient's tensor, times `scale`.
  __device__ __forceinline__ void store(int i, int h, std::byte* share, float scale) const {
    store_share<T, Columns>(sums[i], scale, h, share);
  }
  /// Leaves the sums of row g + 8 h, gradient by gradient, in a partial row.
  __device__ __forceinline__ void leave(int h, float* row) const {
    const int t = static_cast<int>(threadIdx.x) & 3;
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
#pragma unroll
        for (int n = 0; n < Columns / 8; n += 4) {
          *reinterpret_cast<float4*>(row + i * Columns + Columns / 8 * (2 * t + e) + n) =
              float4{sums[i][n][2 * h + e], sums[i][n + 1][2 * h + e], sums[i][n + 2][2 * h + e],
                     sums[i][n + 3][2 * h + e]};
        }
      }
    }
  }
};

/// Registers a thread: an SM has 12 warps by rows of narrow windows, else 8. No instantiation
/// spills.
template <bool Keys, bool Far>
inline constexpr int backward_walk_registers = Keys || Far ? 255 : 168;

template <typename T, int Columns, bool Keys, bool Far>
__global__ void __maxnreg__((backward_walk_registers<Keys, Far>))
    segment_backward_walk_kernel(BackwardWalkArguments call) {
  using Tiles = WalkTiles<Far, false>;
  using Passing = PassingTiles<Columns, Keys>;
  using Strip = StandingStrip<T, Columns, Keys>;
  using Share = RowShare<Columns>;
  using Values = ValueTile<Columns>;
  constexpr int gradients = walk_gradients<Keys>;
  constexpr int lane_bytes = Columns / 2;  // of a row of results
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int g = lane >> 2;
  const int t = lane & 3;
  const int number =
      static_cast<int>(blockIdx.x) * walk_warps + (static_cast<int>(threadIdx.x) >> 5);
  if (number >= call.walk.walks * call.walk.heads) return;
  const WorkWalk& walk = call.walk.list.walks[number / call.walk.heads];
  const int head = number % call.walk.heads;
  const float factor = call.walk.scale * log2_e;
  const Input& standing0 = Keys ? call.walk.k : call.walk.q;
  const Input& standing1 = Keys ? call.walk.v : call.grad_o;
  const Input& passing0 = Keys ? call.walk.q : call.walk.k;
  const Input& passing1 = Keys ? call.grad_o : call.walk.v;
  const auto place = [&](int token) { return Place(call.walk.items, token); };

  Passing globals;
  const int last_global = walk.globals.count - 1;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const auto row_of = [&](int tensor, int token, int share) {
      return HeadRows<const std::byte>(tensor == 0 ? passing0 : passing1, head).at(place(token)) +
             share;
    };
    globals.read(
        u, call, head, 0,
        [&](int i) {
          const int position = min(8 * u + i, last_global);
          return position < 0 ? walk.rows.begin
                              : token_of(walk.globals, call.walk.list.indices, position);
        },
        [&](int tensor, int token) { return row_of(tensor, token, Share::begin()); },
        [&](int tensor, int token) { return row_of(tensor, token, Values::begin()); });
  }
  globals.template clean_values<T, 2>();
  // Whatever is not one of them is seen by nobody.
  const unsigned are_globals = sight_of<Tiles>(walk.globals.count, -1).row[0];
  const unsigned global_sight[2] = {are_globals, are_globals};

  Strip wide;
  const bool has_wide = walk.wide.count > 0;
  if (has_wide) {
    wide.begin(walk.wide.count, [&](int tensor, int row) {
      return HeadRows<const std::byte>(tensor == 0 ? standing0 : standing1, head)
                 .at(place(walk.wide.begin + row)) +
             Share::begin();
    });
    if constexpr (!Keys) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        wide.numbers[h].read(call, walk.wide.begin + min(g + 8 * h, walk.wide.count - 1), head);
      }
    }
    if (walk.wide_takes_globals != 0) {
      wide.template take<2>(globals, global_sight, factor);
    }
  }

  // From here on tokens are counted from the walk's first row.
  const int rows = walk.rows.count;
  const int origin = walk.rows.begin;
  if (rows > 0) {
    const Place its_place = place(origin);
    const RowsFrom<const std::byte> standing[2] = {{standing0, head, its_place, Share::begin()},
                                                   {standing1, head, its_place, Share::begin()}};
    const RowsFrom<const std::byte> passing[2] = {{passing0, head, its_place, Share::begin()},
                                                  {passing1, head, its_place, Share::begin()}};
    const RowsFrom<const std::byte> values[2] = {{passing0, head, its_place, Values::begin()},
                                                 {passing1, head, its_place, Values::begin()}};
    const RowsFrom<std::byte> results[2] = {{call.gradients[0], head, its_place, lane_bytes * t},
                                            {call.gradients[1], head, its_place, lane_bytes * t}};
    const WalkSight whole = sight_of<Tiles>(0, walk.window);
    // The walk's numbers are read again for each strip, not held in registers.
    const auto read = [&](Passing& tiles, int u, int first_key, int keys_begin, int keys_end) {
      tiles.read(
          u, call, head, origin,
          [&](int i) { return max(keys_begin, min(first_key + i, keys_end - 1)); },
          [&](int tensor, int key) { return passing[tensor].at(key); },
          [&](int tensor, int key) { return values[tensor].at(key); });
    };
    // Of two tiles, or the first alone.
    const auto wide_sight = [&](int first_key, int keys) {
      const int first = origin + first_key + 2 * t;
      const int begin = walk.wide_begin;
      const int end = min(walk.wide_end, origin + first_key + keys);
      unsigned seen = 0;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int key = first + 8 * (e / 2) + e % 2;
        if (key >= begin && key < end) seen |= 1u << e;
      }
      return seen;
    };
#pragma unroll 1
    for (int first_row = 0; first_row < rows; first_row += strip_tokens) {
      __syncwarp();
      const int here = opaque(first_row);
      const int first_key = here - Tiles::radius;
      const int keys_begin = walk.keys_begin - origin;
      const int keys_end = walk.keys_end - origin;
      Strip strip;
      strip.begin(rows - here,
                  [&](int tensor, int row) { return standing[tensor].at(here + row); });
      if constexpr (!Keys) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          strip.numbers[h].read(call, origin + min(here + g + 8 * h, rows - 1), head);
        }
      }
      WalkSight sight = whole;
      if (first_key < keys_begin || first_key + 8 * Tiles::of_window > keys_end) {
        sight = cut_sight<Tiles>(whole, first_key, keys_begin, keys_end);
      }
      const bool is_last = here + strip_tokens >= rows;
#pragma unroll
      for (int tile = 0; tile < Tiles::of_window; tile += 2) {
        constexpr int shift = 2 * Tiles::of_globals;
        // Row g sees tiles from 0 on, row g + 8 from 1 on.
        const unsigned low = sight.row[0] >> shift, high = sight.row[1] >> shift << 2;
        const unsigned seen[2] = {low >> 2 * tile & 0xfu, high >> 2 * tile & 0xfu};
        Passing tiles;
        read(tiles, 0, first_key + 8 * tile, keys_begin, keys_end);
        if (tile + 1 < Tiles::of_window) {
          read(tiles, 1, first_key + 8 * tile + 8, keys_begin, keys_end);
          tiles.template clean_values<T, 2>();
          strip.template take<2>(tiles, seen, factor);
          // The wide rows take the keys that a strip's window begins with, and at the end all.
          if (has_wide && (tile == 0 || is_last)) {
            const unsigned seen_by_wide = wide_sight(first_key + 8 * tile, 16);
            wide.template take<2>(tiles, {seen_by_wide, seen_by_wide}, factor);
          }
        } else {
          tiles.template clean_values<T, 1>();
          strip.template take<1>(tiles, seen, factor);
          if (has_wide && is_last) {
            const unsigned seen_by_wide = wide_sight(first_key + 8 * tile, 8);
            wide.template take<1>(tiles, {seen_by_wide, seen_by_wide}, factor);
          }
        }
      }
      // Last, when no window's rows are under way, for the registers' sake.
      if (walk.globals.count > 0) strip.template take<2>(globals, global_sight, factor);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int mine = here + g + 8 * h;
        if (mine >= rows) continue;
#pragma unroll
        for (int i = 0; i < gradients; ++i) {
          strip.store(i, h, results[i].at(mine), i == 0 ? call.walk.scale : 1.0f);
        }
      }
    }
    __syncwarp();
  }
  if (!has_wide) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = g + 8 * h;
    if (row >= walk.wide.count) continue;
    if (walk.first_slot >= 0) {
      wide.leave(h, call.walk.partials + (static_cast<std::int64_t>(head) * call.walk.partial_rows +
                                          walk.first_slot + row) *
                                             call.walk.partial_pitch);
      continue;
    }
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      std::byte* to = HeadRows<std::byte>(call.gradients[i], head).at(place(walk.wide.begin + row));
      wide.store(i, h, to + lane_bytes * t, i == 0 ? call.walk.scale : 1.0f);
    }
  }
}

/// Adds up the parts of wide rows, in their order: a warp a row and head.
template <typename T, int Gradients>
__global__ void merge_backward_walks_kernel(BackwardWalkArguments call) {
  const WalkArguments& a = call.walk;
  const MergedWalkRow merged(a);
  if (!merged.exists) return;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (int column = lane; column < a.head_dim; column += 32) {
#pragma unroll
    for (int i = 0; i < Gradients; ++i) {
      float total = 0.0f;
      for (int p = 0; p < merged.parts.count; ++p) {
        total += merged.parts.first[p * merged.parts.step + i * a.head_dim + column];
      }
      std::byte* row =
          HeadRows<std::byte>(call.gradients[i], merged.head).at(Place(a.items, merged.token));
      reinterpret_cast<T*>(row)[column] = from_float<T>(total * (i == 0 ? a.scale : 1.0f));
    }
  }
}

}  // namespace attnscope::cuda
