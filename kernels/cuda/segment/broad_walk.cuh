#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Forward for windows of 17 to 128 tokens and 16-bit numbers (kernels/cuda/walk_list.h): as
// walk.cuh, but that the keys of some strips side by side pass by in chunks of 16, and each row has
// a running maximum (online softmax: Milakov and Gimelshein, 2018). It lags behind: weights are
// taken as if it were still right, and only where their sum grows large, which after a row's first
// keys is rare, are maximum and sums raised and the chunk weighed again. The same turn cleans
// values that are not finite. Only keys at a window's edges are compared with it.
//
// Walks are short and a block's walks are neighbours of one head, so that their keys, which
// overlap, are found in the first-level cache. A chunk is read while the one before is computed.

#include "kernels/cuda/segment/walk.cuh"

namespace attnscope::cuda {

/// Strips that a warp computes side by side.
template <int Columns>
inline constexpr int broad_strips = broad_strips_of(Columns);
/// Registers a thread; no instantiation spills.
template <int Columns, bool Many>
inline constexpr int broad_registers = (Columns == 64 ? 200 : 168) + (Many ? 24 : 0);

/// Columns from `low` to `high` of a chunk of 16 keys are seen.
struct SeenColumns {
  int low, high;

  [[nodiscard]] __device__ __forceinline__ bool has(int tile, int e) const {
    const int column = 8 * tile + e;
    return column >= low && column <= high;
  }
};

/// Rows g (h = 0) and g + 8 (h = 1) of 16, over all that they see.
template <typename T, int Columns>
struct BroadStrip {
  static constexpr float most = 4096.0f;    // of a lane's weights of a chunk
  static constexpr float nothing = -1e30f;  // the maximum of no scores

  QueryFragments<Columns> queries;
  float maximum[2];             // in units of log2; lags
  float sum[2];                 // this lane's share
  std::uint32_t weights[2][2];  // of the chunk: pairs of half h and tile i
  float part[2];                // their sums
  float o[Columns / 8][4];

  __device__ __forceinline__ void begin(const RowShare<Columns>& low, const RowShare<Columns>& high,
                                        bool negative) {
    queries.put(low, high);
    // Computed, if to the same: what was read lies in other registers than the tensor cores take,
    // and would be moved for every product.
    const std::uint32_t signs = negative ? 0x80008000u : 0u;
#pragma unroll
    for (int i = 0; i < QueryFragments<Columns>::steps; ++i) {
#pragma unroll
      for (int r = 0; r < 4; ++r) queries.a[i][r] ^= signs;
    }
    maximum[0] = maximum[1] = nothing;
    sum[0] = sum[1] = 0.0f;
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n) o[n][0] = o[n][1] = o[n][2] = o[n][3] = 0.0f;
  }

  __device__ __forceinline__ void score(const RowShare<Columns> (&keys)[2],
                                        float (&s)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0.0f;
      add_scores<T>(s[i], queries, keys[i]);
    }
  }

  /// Weights of the scores; whether they are too large for the maximum to stay.
  __device__ __forceinline__ bool weigh(const float (&s)[2][4], float factor) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float of_tile[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float first = exp2_approx(fmaf(s[i][2 * h], factor, -maximum[h]));
        const float second = exp2_approx(fmaf(s[i][2 * h + 1], factor, -maximum[h]));
        of_tile[i] = first + second;
        weights[h][i] = pair_of<T>(first, second);
      }
      part[h] = of_tile[0] + of_tile[1];
    }
    return part[0] > most || part[1] > most;
  }

  /// Raises the maximum of rows of which a lane's weights were too large. By all lanes of the warp;
  /// what becomes of a row follows from its own scores alone.
  __device__ __forceinline__ void raise(const float (&s)[2][4], float factor) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      unsigned rises = part[h] > most ? 1u : 0u;
      rises |= __shfl_xor_sync(all_lanes, rises, 1);
      rises |= __shfl_xor_sync(all_lanes, rises, 2);
      float largest = fmaxf(fmaxf(s[0][2 * h], s[0][2 * h + 1]),  //
                            fmaxf(s[1][2 * h], s[1][2 * h + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 2));
      if (rises == 0) continue;
      const float rescale = exp2_approx(fmaf(-largest, factor, maximum[h]));
      maximum[h] = largest * factor;
      sum[h] *= rescale;
#pragma unroll
      for (int n = 0; n < Columns / 8; ++n) {
        o[n][2 * h] *= rescale;
        o[n][2 * h + 1] *= rescale;
      }
    }
  }

  /// By all lanes of the warp.
  __device__ __forceinline__ void accumulate(const ValueTile<Columns> (&values)[2]) {
    sum[0] += part[0];
    sum[1] += part[1];
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n) {
      multiply_add<T>(o[n], {weights[0][0], weights[1][0], weights[0][1], weights[1][1]},
                      values[0].pair[n], values[1].pair[n]);
    }
  }

  /// Sums become those of whole rows. By all lanes of the warp.
  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      sum[h] += __shfl_xor_sync(all_lanes, sum[h], 1);
      sum[h] += __shfl_xor_sync(all_lanes, sum[h], 2);
    }
  }
};

template <typename T, int Columns, bool Many>
__global__ void __maxnreg__((broad_registers<Columns, Many>))
    segment_broad_walk_kernel(WalkArguments call) {
  using Keys = RowShare<Columns>;
  using Values = ValueTile<Columns>;
  constexpr int strips = broad_strips<Columns>;
  constexpr int step = strip_tokens * strips;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int g = lane >> 2;
  const int t = lane & 3;
  const int number = static_cast<int>(warp_number());
  if (number >= call.walks * call.heads) return;
  const WorkWalk& walk = call.list.walks[number % call.walks];
  const int head = number / call.walks;
  const float factor = positive_factor(call.scale);
  const bool negative = call.scale < 0.0f;
  const auto place = [&](int token) { return Place(call.items, token); };

  WideRows<T, Columns, WalkTiles<false, Many>::of_wide> wide;
  const bool has_wide = walk.wide.count > 0;
  if (has_wide) {
    wide.begin(walk.wide.count, [&](int row) {
      return HeadRows<const std::byte>(call.q, head).at(place(walk.wide.begin + row));
    });
    if (negative) wide.q.negate();
  }

  // From here on tokens are counted from the walk's first row; where it has no rows, from a token
  // that is read in their place.
  const Place origin = place(walk.rows.begin);
  const RowsFrom<const std::byte> q(call.q, head, origin, Keys::begin()),
      k(call.k, head, origin, Keys::begin()), v(call.v, head, origin, Values::begin());
  const int rows = walk.rows.count;
  const int window = walk.window;
  const int keys_begin = walk.keys_begin - walk.rows.begin;
  const int keys_end = walk.keys_end - walk.rows.begin;
  const int globals = walk.globals.count;

  // A chunk's keys are read when those of the one before have been used, and so are its values.
  Keys keys[2];
  typename Values::Rows newest[2];
  const auto band_key = [&](int key) { return max(keys_begin, min(key, keys_end - 1)); };
  /// 16 keys of the band from `first` on; where there is none, the nearest.
  const auto read_band_keys = [&](int first) {
#pragma unroll
    for (int i = 0; i < 2; ++i) keys[i].read(k.at(band_key(first + 8 * i + g)));
  };
  const auto read_band_values = [&](int first) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int key = first + 8 * i + 2 * t;
      newest[i].read(v.at(band_key(key)), v.at(band_key(key + 1)));
    }
  };
  const auto global = [&](const Input& tensor, int position) {
    const int token = token_of(walk.globals, call.list.indices, min(position, globals - 1));
    return HeadRows<const std::byte>(tensor, head).at(place(token));
  };
  const auto read_global_keys = [&](int first) {
#pragma unroll
    for (int i = 0; i < 2; ++i) keys[i].read(global(call.k, first + 8 * i + g) + Keys::begin());
  };
  const auto read_global_values = [&](int first) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int key = first + 8 * i + 2 * t;
      newest[i].read(global(call.v, key) + Values::begin(),
                     global(call.v, key + 1) + Values::begin());
    }
  };
  BroadStrip<T, Columns> strip[strips];

  /// The chunk that was read, for all strips of a step. columns(r): what the lane sees, from its
  /// first column on, as row r of the step. wide_seen: bits 0, 1 and 2, 3 are the lane's keys that
  /// the wide rows take here. Then the next one's keys are read, and its values.
  const auto take = [&](bool is_edge, auto&& columns, unsigned wide_seen, auto&& read_next_keys,
                        auto&& read_next_values) {
    __syncwarp();
    float s[strips][2][4];
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].score(keys, s[b]);
    if (wide_seen != 0) wide.weigh(keys[0], keys[1], wide_seen & 0xfu, factor);
    read_next_keys();
    if (is_edge) {
#pragma unroll
      for (int b = 0; b < strips; ++b) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const SeenColumns seen = columns(strip_tokens * b + 8 * h);
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            float& score = s[b][e / 2][2 * h + e % 2];
            score = seen.has(e / 2, e % 2) ? score : minus_infinity;
          }
        }
      }
    }
    bool is_rare = false;
#pragma unroll
    for (int b = 0; b < strips; ++b) is_rare = strip[b].weigh(s[b], factor) || is_rare;
    Values values[2];
    values[0].put(newest[0]);
    values[1].put(newest[1]);
    std::uint32_t trace = values[0].template trace<T>(0);
    trace = values[1].template trace<T>(trace);
    unsigned spoilt = 0;
    if (__any_sync(all_lanes, is_rare || trace != 0 ? 1 : 0) != 0) {
      clean<T, 0, 2>(values, spoilt);
#pragma unroll
      for (int b = 0; b < strips; ++b) {
        strip[b].raise(s[b], factor);
        static_cast<void>(strip[b].weigh(s[b], factor));
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const SeenColumns seen = columns(strip_tokens * b + 8 * h);
          unsigned bits = 0;
#pragma unroll
          for (int e = 0; e < 4; ++e) bits |= seen.has(e / 2, e % 2) ? 1u << e : 0u;
          bits &= spoilt;
          strip[b].weights[h][0] = with_nan(strip[b].weights[h][0], bits);
          strip[b].weights[h][1] = with_nan(strip[b].weights[h][1], bits >> 2);
        }
      }
    }
    __syncwarp();
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].accumulate(values);
    if (wide_seen != 0) wide.accumulate(values[0], values[1], wide_seen & spoilt);
    read_next_values();
  };
  /// Keys from `begin` to `end` of the lane's, of which the first is `column`; for `wide_seen` not
  /// 0 even if there are none, because all lanes go together.
  const auto wide_sight = [&](int column, int begin, int end) {
    unsigned seen = 1u << 4;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int key = column + 8 * (e / 2) + e % 2;
      if (key >= begin && key < end) seen |= 1u << e;
    }
    return seen;
  };

  int row = 0;
  do {
    __syncwarp();
    const int band_from = max(keys_begin, row - window);
    // Chunks lie alike beside all steps, so that each key is in one of the wide rows' chunks.
    const int band_begin = band_from - ((band_from - row) & 15);
    const int band_end = window < 0 ? band_begin : min(keys_end, row + step + window);
    if (globals > 0) {
      read_global_keys(0);
      read_global_values(0);
    } else {
      read_band_keys(band_begin);
      read_band_values(band_begin);
    }
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      const int first = row + strip_tokens * b + g;
      Keys low, high;
      low.read(q.at(max(min(first, rows - 1), 0)));
      high.read(q.at(max(min(first + 8, rows - 1), 0)));
      strip[b].begin(low, high, negative);
    }
#pragma unroll 1
    for (int first = 0; first < globals; first += 16) {
      const bool is_last = first + 16 >= globals;
      const int seen = globals - first - 1 - 2 * t;
      const bool is_of_wide = has_wide && row == 0 && walk.wide_takes_globals != 0;
      take(
          is_last,
          [&](int) {
            return SeenColumns{0, seen};
          },
          is_of_wide ? wide_sight(first + 2 * t, 0, globals) : 0u,
          [&] {
            if (is_last) {
              read_band_keys(band_begin);
            } else {
              read_global_keys(first + 16);
            }
          },
          [&] {
            if (is_last) {
              read_band_values(band_begin);
            } else {
              read_global_values(first + 16);
            }
          });
    }
    // Chunks that begin between these are seen wholly by all rows.
    const int whole_from = max(row + step - 1 - window, keys_begin);
    const int whole_to = min(row + window - 15, keys_end - 16);
#pragma unroll 1
    for (int first = band_begin; first < band_end; first += 16) {
      const bool is_of_wide = has_wide && first >= row && first < row + step;
      take(
          first < whole_from || first > whole_to,
          [&](int offset) {
            const int of_row = row + offset + g;
            const int column = first + 2 * t;
            return SeenColumns{max(of_row - window, keys_begin) - column,
                               min(of_row + window, keys_end - 1) - column};
          },
          is_of_wide ? wide_sight(first + 2 * t, walk.wide_begin - walk.rows.begin,
                                  walk.wide_end - walk.rows.begin)
                     : 0u,
          // Behind the last one nothing is used.
          [&] { read_band_keys(first + 16); }, [&] { read_band_values(first + 16); });
    }
    const RowsFrom<std::byte> o(call.o, head, origin, OutputShare<Columns>::begin());
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      strip[b].finish();
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int mine = row + strip_tokens * b + 8 * h + g;
        if (mine >= rows) continue;
        store_share<T, Columns>(strip[b].o, approximate_inverse_of(strip[b].sum[h]), h, o.at(mine));
        if (call.lse == nullptr || t != 0) continue;
        call.lse[(static_cast<std::int64_t>(walk.rows.begin) + mine) * call.heads + head] =
            log2_sum_exp(strip[b].maximum[h], strip[b].sum[h]);
      }
    }
    row += step;
  } while (row < rows);
  __syncwarp();
  if (has_wide) leave_or_finish(wide, walk, call, head);
}

}  // namespace attnscope::cuda
