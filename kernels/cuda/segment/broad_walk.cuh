#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Forward for windows of 17 to 128 tokens and 16-bit numbers (kernels/cuda/work_list.h): like
// walk.cuh, but the keys of several adjacent strips are streamed in chunks of 16. A row's maximum
// is replaced by the score of one of its keys, the first global or, without globals, itself, and
// its weights are relative to it: they may grow to the limits of the number format and their sum.
// This is not checked meanwhile. If a sum has become too large or a result is not finite, the step
// is computed again in the careful mode: maxima are raised (online softmax: Milakov and Gimelshein,
// 2018) and values that are not finite are cleaned, chunk by chunk. A row's result depends only on
// its own keys, whichever mode computes it.
//
//   inner chunks   all rows of the step attend to all keys: no comparisons, and the next chunk's
//                  rows are `16 * stride` further
//   rim chunks     the others, and all in the careful mode: strips without keys in the chunk are
//                  skipped, and scores are masked beyond a window or its keys
//
// Walks are short and a block's walks are adjacent ones of one head, so that their overlapping keys
// are found in the first-level cache. A chunk is loaded while the previous one is computed.

#include "kernels/cuda/segment/walk.cuh"

namespace attnscope::cuda {

/// Registers per thread; no instantiation spills. A multiprocessor has 12 such warps, or 8.
template <int Columns, bool Many>
inline constexpr int broad_registers = Columns == 64 || Many ? 255 : 168;

/// Rows g (h = 0) and g + 8 (h = 1) of 16, over all their keys. All functions are called by all
/// lanes of the warp.
template <typename T, int Columns>
struct BroadStrip {
  static constexpr bool is_half = std::is_same_v<T, __half>;
  /// The largest sum of weights, and how far above the first score, in units of log2, weights are
  /// 1: float16 ends at 65504.
  static constexpr float most = is_half ? 60000.0f : 1e18f;
  static constexpr float headroom = is_half ? 6.0f : 0.0f;

  QueryFragments<Columns> queries;
  float maximum[2];             // in units of log2
  float sum[2];                 // this lane's share
  std::uint32_t weights[2][2];  // of the chunk: pairs of half h and tile i
  float part[2];                // their sums
  float o[Columns / 8][4];

  __device__ __forceinline__ void begin(const RowShare<Columns>& low, const RowShare<Columns>& high,
                                        std::uint32_t signs) {
    queries.put(low, high);
    queries.flip(signs);
    sum[0] = sum[1] = 0.0f;
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n) o[n][0] = o[n][1] = o[n][2] = o[n][3] = 0.0f;
  }

  __device__ __forceinline__ void score(const RowShare<Columns> (&keys)[2], ChunkScores& s) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0.0f;
      add_scores<T>(s[i], queries, keys[i]);
    }
  }

  /// Sets the maximum from one score of each half's row, read from `lane`.
  __device__ __forceinline__ void set_maximum(float of_low, float of_high, int lane, float factor) {
    const float score[2] = {__shfl_sync(all_lanes, of_low, lane),
                            __shfl_sync(all_lanes, of_high, lane)};
#pragma unroll
    for (int h = 0; h < 2; ++h) maximum[h] = fmaxf(fmaf(score[h], factor, headroom), no_maximum);
  }

  __device__ __forceinline__ void weigh(const ChunkScores& s, float factor) {
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
  }

  /// In the careful mode: computes the weights again if the maximum had to be raised, and makes
  /// rows NaN that attend to the keys in the bits of `spoilt`.
  __device__ __forceinline__ void mend(const ChunkScores& s, float factor, unsigned spoilt) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      unsigned rises = sum[h] + part[h] <= most ? 0u : 1u;
      rises |= __shfl_xor_sync(all_lanes, rises, 1);
      rises |= __shfl_xor_sync(all_lanes, rises, 2);
      float largest = fmaxf(fmaxf(s[0][2 * h], s[0][2 * h + 1]),  //
                            fmaxf(s[1][2 * h], s[1][2 * h + 1]));
      const float raised = fmaf(largest_of_lanes<4>(largest), factor, headroom);
      if (rises == 0) continue;
      const float rescale = exp2_approx(maximum[h] - raised);
      maximum[h] = raised;
      sum[h] *= rescale;
#pragma unroll
      for (int n = 0; n < Columns / 8; ++n) {
        o[n][2 * h] *= rescale;
        o[n][2 * h + 1] *= rescale;
      }
    }
    weigh(s, factor);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        unsigned bits = spoilt >> 2 * i;
#pragma unroll
        for (int e = 0; e < 2; ++e) bits &= s[i][2 * h + e] == minus_infinity ? ~(1u << e) : ~0u;
        weights[h][i] = with_nan(weights[h][i], bits);
      }
    }
    __syncwarp();
  }

  __device__ __forceinline__ void accumulate(const ValueTile<Columns> (&values)[2]) {
    sum[0] += part[0];
    sum[1] += part[1];
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n) {
      multiply_add<T>(o[n], {weights[0][0], weights[1][0], weights[0][1], weights[1][1]},
                      values[0].pair[n], values[1].pair[n]);
    }
  }
};

template <typename T, int Columns, bool Many>
__global__ void __maxnreg__((broad_registers<Columns, Many>))
    segment_broad_walk_kernel(ForwardWalkArguments call) {
  using Keys = RowShare<Columns>;
  using Values = ValueTile<Columns>;
  constexpr int strips = broad_strips<Columns>;
  constexpr int step = strip_tokens * strips;
  const int lane = lane_of_warp(), g = g_of_lane(), t = t_of_lane();
  const int number = static_cast<int>(warp_number());
  if (number >= call.walks * call.heads) return;
  const WorkWalk& walk = call.list.walks[number % call.walks];
  const int head = number / call.walks;
  const float factor = call.factor;

  WideRows<T, Columns, WalkTiles<false, Many>::of_wide> wide;
  const bool has_wide = same_in_all(walk.wide.count) > 0;
  if (has_wide) wide.begin(call, walk, head);

  // From here on tokens are counted from the walk's first row or, without rows, from the token read
  // instead of it.
  const Place origin(call.items, walk.rows.begin);
  const RowsFrom<const std::byte> q(call.q, head, origin, Keys::begin());
  // Rows of a chunk: relative to the lane's first ones, g and 2 t.
  RowsFrom<const std::byte> k(call.k, head, origin, Keys::begin()),
      v(call.v, head, origin, Values::begin());
  k.base = opaque(k.at(g));
  v.base = opaque(v.at(2 * t));
  const RowsFrom<std::byte> o(call.o, head, origin, output_begin<Columns>());
  const int rows = same_in_all(walk.rows.count);
  const int window = same_in_all(walk.window);
  const int keys_begin = same_in_all(walk.keys_begin - walk.rows.begin);
  const int keys_end = same_in_all(walk.keys_end - walk.rows.begin);
  const int wide_begin = same_in_all(walk.wide_begin - walk.rows.begin);
  const int wide_end = same_in_all(has_wide ? walk.wide_end - walk.rows.begin : wide_begin);
  const int globals = same_in_all(walk.globals.count);
  const int last_row = max(rows - 1, 0);

  // A chunk's keys are loaded after the last use of the previous chunk's, and so are its values: in
  // another order they would be loaded into other registers, and moved.
  Keys keys[2];
  typename Values::Rows values_read[2];
  /// Loads keys of the band starting at `first`, if all exist.
  const auto read_keys = [&](int first) {
    const std::byte* at = k.at(first);
    keys[0].read(at);
    keys[1].read(row_at(at, 8, k.stride));
  };
  const auto read_values = [&](int first) {
    const std::byte *at = v.at(first), *after = row_at(at, 8, v.stride);
    values_read[0].read(at, row_at(at, 1, v.stride));
    values_read[1].read(after, row_at(after, 1, v.stride));
  };
  /// The nearest key replaces a missing one.
  const auto read_band = [&](int first) {
    if (first >= keys_begin && first + 16 <= keys_end) {
      read_keys(first);
      read_values(first);
      return;
    }
    const auto there = [&](int own, int after) {
      return max(keys_begin, min(first + own + after, keys_end - 1)) - own;
    };
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      keys[i].read(k.at(there(g, 8 * i)));
      values_read[i].read(v.at(there(2 * t, 8 * i)), v.at(there(2 * t, 8 * i + 1)));
    }
  };
  const GlobalRows of_globals(call, walk, head, call.k, call.v);
  BroadStrip<T, Columns> strip[strips];

  const auto take_inner = [&](int first, auto with_wide) {
    ChunkScores s[strips];
    strip[0].score(keys, s[0]);
    if constexpr (decltype(with_wide)::value) wide.weigh(keys[0], keys[1], 0xfu, factor);
#pragma unroll
    for (int b = 1; b < strips; ++b) strip[b].score(keys, s[b]);
    read_keys(first + 16);
    Values values[2];
    values[0].put(values_read[0]);
    values[1].put(values_read[1]);
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].weigh(s[b], factor);
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].accumulate(values);
    if constexpr (decltype(with_wide)::value) wide.accumulate(values[0], values[1], 0);
    read_values(first + 16);
  };
  /// `sees(b)`: whether strip b attends to one of the keys; `cut(b, s)` masks its scores.
  /// `by_wide`: whether the wide rows use the keys from `begin` to `end` among these 16 from
  /// `first` on.
  const auto take_rim = [&](auto careful, bool is_first, const auto& sees, const auto& cut,
                            bool by_wide, int first, int begin, int end) {
    Values values[2];
    values[0].put(values_read[0]);
    values[1].put(values_read[1]);
    unsigned spoilt = 0;
    if constexpr (decltype(careful)::value) clean<T, 0, 2>(values, spoilt);
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      if (sees(b)) {
        ChunkScores s;
        strip[b].score(keys, s);
        if (is_first) strip[b].set_maximum(s[0][0], s[0][2], lane & 28, factor);
        cut(b, s);
        strip[b].weigh(s, factor);
        if constexpr (decltype(careful)::value) strip[b].mend(s, factor, spoilt);
        strip[b].accumulate(values);
      }
    }
    if (by_wide) {
      wide.weigh(keys[0], keys[1], seen_keys<2>(first, begin, end), factor);
      wide.accumulate(values[0], values[1], 0);
    }
  };

  /// Computes and writes the rows from `row` on; in the careful mode, for the second time. Returns
  /// whether a sum or a result is out of range or not finite.
  const auto take_step = [&](int row, auto careful) {
    __syncwarp();
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      const int first = row + strip_tokens * b + g;
      Keys low, high;
      low.read(q.at(min(first, last_row)));
      high.read(q.at(min(first + 8, last_row)));
      strip[b].begin(low, high, call.signs);
    }
    constexpr bool with_care = decltype(careful)::value;
    const bool by_wide = has_wide && !with_care;
    // Chunks have the same alignment in all steps, so that each key is in one of the wide rows'
    // chunks. Counted from the step's first row.
    const int band_begin = max(keys_begin - row, -window) & ~15;
    // `opaque` avoids recomputation for every chunk.
    const int band_end = opaque(window < 0 ? band_begin : min(keys_end - row, step + window));
    const int inner_begin = opaque(max(keys_begin - row, step - 1 - window));
    const int inner_end = opaque(with_care ? inner_begin : min(keys_end - row - 31, window - 14));
#pragma unroll 1
    for (int first = 0; first < globals; first += 16) {
#pragma unroll
      for (int i = 0; i < 2; ++i) of_globals.read(first + 8 * i, keys[i], values_read[i]);
      take_rim(
          careful, Many ? first == 0 : true, [](int) { return true; },
          [&](int, ChunkScores& s) { cut_by_keys(s, first, 0, globals); },
          by_wide && row == 0 && walk.wide_takes_globals != 0, first, 0, globals);
    }
    if (globals == 0) {
#pragma unroll
      for (int b = 0; b < strips; ++b) {
        read_band(row + strip_tokens * b);
        ChunkScores s;
        strip[b].score(keys, s);
        const bool is_odd = (g & 1) != 0;
        strip[b].set_maximum(is_odd ? s[0][1] : s[0][0], is_odd ? s[1][3] : s[1][2],
                             4 * g + (g >> 1), factor);
      }
    }
    read_band(row + band_begin);
    const bool is_whole = row >= wide_begin && row + step <= wide_end;
    int distance = band_begin;
    while (distance < band_end) {
      const bool is_of_wide = by_wide && distance >= 0 && distance < step;
      const bool is_inner = distance >= inner_begin && distance < inner_end;
      if (is_inner && !is_of_wide) {
        const int end = opaque(by_wide && distance < 0 ? min(inner_end, 0) : inner_end);
#pragma unroll 1
        for (; distance < end; distance += 16) take_inner(row + distance, std::false_type{});
      } else if (is_inner && is_whole) {
        const int end = opaque(min(inner_end, step));
#pragma unroll 1
        for (; distance < end; distance += 16) take_inner(row + distance, std::true_type{});
      } else {
        const int first = row + distance;
        const bool is_cut = first < keys_begin || first + 16 > keys_end;
        const int from_first = distance + window + 15, most_from_first = 2 * window + 30;
        take_rim(
            careful, false,
            [&](int b) {
              return static_cast<unsigned>(from_first - strip_tokens * b) <=
                     static_cast<unsigned>(most_from_first);
            },
            [&](int b, ChunkScores& s) {
              cut_by_window(s, distance - strip_tokens * b, window);
              if (is_cut) cut_by_keys(s, first, keys_begin, keys_end);
            },
            is_of_wide, first, wide_begin, wide_end);
        read_band(first + 16);
        distance += 16;
      }
    }
    std::uint32_t trace = 0;  // of results
    bool is_odd = false;      // a sum is out of range
    // Lane t writes the log-sum-exps of half t of the step's rows.
    float maximum = 0.0f, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 2 * strips; ++i) {
      BroadStrip<T, Columns>& mine = strip[i / 2];
      mine.sum[i % 2] = sum_of_lanes<4>(mine.sum[i % 2]);
      const int its_row = row + 8 * i + g;
      trace = store_share<T, Columns>(mine.o, approximate_inverse_of(mine.sum[i % 2]), i % 2,
                                      o.at(its_row), its_row < rows, trace);
      is_odd = is_odd || !(mine.sum[i % 2] <= mine.most);
      maximum = t == i ? mine.maximum[i % 2] : maximum;
      sum = t == i ? mine.sum[i % 2] : sum;
    }
    const int its_row = row + 8 * t + g;
    if (call.lse != nullptr && t < 2 * strips && its_row < rows) {
      call.lse[static_cast<std::int64_t>(walk.rows.begin + its_row) * call.heads + head] =
          log2_sum_exp(maximum, sum);
    }
    return __any_sync(all_lanes, is_odd || trace != 0 ? 1 : 0) != 0;
  };
  int row = 0;
  do {
    const bool again = take_step(row, std::false_type{});
    if (again) take_step(row, std::true_type{});
    row += step;
  } while (row < rows);
  if (has_wide) wide.end(call, walk, head);
}

}  // namespace attnscope::cuda
