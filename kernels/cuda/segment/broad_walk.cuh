#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Forward for windows of 17 to 128 tokens and 16-bit numbers (kernels/cuda/walk_list.h): as
// walk.cuh, but that the keys of some strips side by side pass by in chunks of 16. A row's maximum
// is that of the first keys that it sees - the globals, or where there are none the 16 about itself
// - and its weights are taken as if it were right for all: they may grow as large as the numbers
// and their sum can hold. Nothing is looked at meanwhile. Where a sum has become too large or a
// result is not finite, the step is computed again with care: maxima are raised (online softmax:
// Milakov and Gimelshein, 2018) and values that are not finite cleaned, chunk by chunk. What
// becomes of a row follows from its own keys alone, whichever way it is computed. Only keys at a
// window's edges are compared with it.
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

/// Rows g (h = 0) and g + 8 (h = 1) of 16, over all that they see.
template <typename T, int Columns>
struct BroadStrip {
  static constexpr bool is_half = std::is_same_v<T, __half>;
  /// How large a sum of weights may be, and how far above the first keys' maximum, in units of
  /// log2, weights are 1: float16 ends at 65504.
  static constexpr float most = is_half ? 60000.0f : 1e18f;
  static constexpr float headroom = is_half ? 6.0f : 0.0f;
  static constexpr float nothing = -1e30f;  // the maximum of no scores

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

  __device__ __forceinline__ void score(const RowShare<Columns> (&keys)[2],
                                        float (&s)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0.0f;
      add_scores<T>(s[i], queries, keys[i]);
    }
  }

  /// The first maximum. By all lanes of the warp.
  __device__ __forceinline__ void set_maximum(const float (&s)[2][4], float factor) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float largest = largest_of(s, h);
      maximum[h] = largest == minus_infinity ? nothing : fmaf(largest, factor, headroom);
    }
  }

  __device__ __forceinline__ void weigh(const float (&s)[2][4], float factor) {
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

  /// With care: weighs again where the maximum had to be raised, and makes NaN of what sees the
  /// keys that the bits of `spoilt` stand for. By all lanes of the warp.
  __device__ __forceinline__ void mend(const float (&s)[2][4], float factor, unsigned spoilt) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      unsigned rises = sum[h] + part[h] > most ? 1u : 0u;
      rises |= __shfl_xor_sync(all_lanes, rises, 1);
      rises |= __shfl_xor_sync(all_lanes, rises, 2);
      const float raised = fmaf(largest_of(s, h), factor, headroom);
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

 private:
  /// By all lanes of the warp.
  static __device__ __forceinline__ float largest_of(const float (&s)[2][4], int h) {
    float largest = fmaxf(fmaxf(s[0][2 * h], s[0][2 * h + 1]),  //
                          fmaxf(s[1][2 * h], s[1][2 * h + 1]));
    largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 1));
    return fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 2));
  }
};

/// `from` of another lane.
__device__ __forceinline__ const std::byte* of_lane(const std::byte* from, int lane) {
  return reinterpret_cast<const std::byte*>(
      __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(from), lane));
}

template <typename T, int Columns, bool Many>
__global__ void __maxnreg__((broad_registers<Columns, Many>))
    segment_broad_walk_kernel(ForwardWalkArguments call) {
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
  const std::uint32_t signs = signs_of(call.scale);
  const auto place = [&](int token) { return Place(call.items, token); };

  WideRows<T, Columns, WalkTiles<false, Many>::of_wide> wide;
  const bool has_wide = same_in_all(walk.wide.count) > 0;
  if (has_wide) {
    wide.begin(walk.wide.count, [&](int row) {
      return HeadRows<const std::byte>(call.q, head).at(place(walk.wide.begin + row));
    });
    wide.q.flip(signs);
  }

  // From here on tokens are counted from the walk's first row; where it has no rows, from a token
  // that is read in their place.
  const Place origin = place(walk.rows.begin);
  const RowsFrom<const std::byte> q(call.q, head, origin, Keys::begin()),
      k(call.k, head, origin, Keys::begin()), v(call.v, head, origin, Values::begin());
  const RowsFrom<std::byte> o(call.o, head, origin, OutputShare<Columns>::begin());
  const int rows = same_in_all(walk.rows.count);
  const int window = same_in_all(walk.window);
  const int keys_begin = same_in_all(walk.keys_begin - walk.rows.begin);
  const int keys_end = same_in_all(walk.keys_end - walk.rows.begin);
  const int wide_begin = same_in_all(walk.wide_begin - walk.rows.begin);
  const int wide_end = same_in_all(has_wide ? walk.wide_end - walk.rows.begin : wide_begin);
  const int globals = same_in_all(walk.globals.count);

  // A chunk's keys are read when those of the one before have been used, and so are its values.
  Keys keys[2];
  typename Values::Rows newest[2];
  /// A step's first chunk alone may begin before the band's keys; where there is none, the nearest.
  const auto band_key = [&](int key, bool is_first) {
    const int there = min(key, keys_end - 1);
    return is_first ? max(keys_begin, there) : there;
  };
  const auto read_band_keys = [&](int first, bool is_first) {
#pragma unroll
    for (int i = 0; i < 2; ++i) keys[i].read(k.at(band_key(first + 8 * i + g, is_first)));
  };
  const auto read_band_values = [&](int first, bool is_first) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int key = first + 8 * i + 2 * t;
      newest[i].read(v.at(band_key(key, is_first)), v.at(band_key(key + 1, is_first)));
    }
  };
  /// 16 globals from `first` on: a lane looks for the rows of one, and has them for all.
  const auto read_globals = [&](int first) {
    const int position = min(first + (lane & 15), globals - 1);
    const Place at = place(token_of(walk.globals, call.list.indices, position));
    const std::byte* of_k = HeadRows<const std::byte>(call.k, head).at(at);
    const std::byte* of_v = HeadRows<const std::byte>(call.v, head).at(at);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      keys[i].read(of_lane(of_k, 8 * i + g) + Keys::begin());
      newest[i].read(of_lane(of_v, 8 * i + 2 * t) + Values::begin(),
                     of_lane(of_v, 8 * i + 2 * t + 1) + Values::begin());
    }
  };
  BroadStrip<T, Columns> strip[strips];
  using Scores = float[strips][2][4];

  /// Scores of strip b with the keys from `first` on that lie in no window of its rows become -inf.
  const auto cut_by_window = [&](float(&s)[2][4], int b, int first, int row) {
    const int from_window = first - row - strip_tokens * b + 2 * t - g + window;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      float& score = s[e / 4][e % 4];
      const auto place_in_it =
          static_cast<unsigned>(from_window + 8 * (e / 4) - 8 * (e / 2 % 2) + e % 2);
      score = place_in_it <= static_cast<unsigned>(2 * window) ? score : minus_infinity;
    }
  };
  /// And those with keys before `begin` and from `end` on.
  const auto cut_by_keys = [&](float(&s)[2][4], int first, int begin, int end) {
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      float& score = s[e / 4][e % 4];
      const int key = first + 8 * (e / 4) + 2 * t + e % 2;
      score = key >= begin && key < end ? score : minus_infinity;
    }
  };

  constexpr int nowhere = 1 << 30;
  int row = 0;      // the step's first
  int careful = 0;  // 1: the step is computed again
  /// The chunk that was read, for all strips of a step; cut(s) takes out what is not seen.
  /// wide_seen: bits 0, 1 and 2, 3 are the lane's keys that the wide rows take here, which see all
  /// of a walk's keys. Then the next of the band are read.
  const auto take = [&](bool is_first, auto&& cut, unsigned wide_seen, int next,
                        bool next_is_first) {
    __syncwarp();
    Scores s;
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].score(keys, s[b]);
    if (wide_seen != 0) wide.weigh(keys[0], keys[1], wide_seen & 0xfu, factor);
    read_band_keys(next, next_is_first);
    cut(s);
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      if (is_first) strip[b].set_maximum(s[b], factor);
      strip[b].weigh(s[b], factor);
    }
    Values values[2];
    values[0].put(newest[0]);
    values[1].put(newest[1]);
    if (careful != 0) {
      unsigned spoilt = 0;
      clean<T, 0, 2>(values, spoilt);
#pragma unroll
      for (int b = 0; b < strips; ++b) strip[b].mend(s[b], factor, spoilt);
    }
    __syncwarp();
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].accumulate(values);
    if (wide_seen != 0) wide.accumulate(values[0], values[1], 0);
    read_band_values(next, next_is_first);
  };
  /// Which of the lane's keys of a chunk lie from `begin` to `end`; not 0 even if none does,
  /// because all lanes go together.
  const auto wide_sight = [&](int first, int begin, int end) {
    unsigned seen = 0xfu;
    if (first < begin || first + 16 > end) {
      seen = 1u << 4;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int key = first + 2 * t + 8 * (e / 2) + e % 2;
        if (key >= begin && key < end) seen |= 1u << e;
      }
    }
    return seen;
  };

  do {
    __syncwarp();
    // Counted from the step's first row: the wide rows' keys, if they take any in it, and the
    // band's end.
    const int to_wide = opaque(has_wide && careful == 0 ? 0 : nowhere);
    const int band_from = max(keys_begin, row - window);
    // Chunks lie alike beside all steps, so that each key is in one of the wide rows' chunks.
    const int band_begin = band_from - ((band_from - row) & 15);
    const int band_end =
        opaque((window < 0 ? band_begin : min(keys_end, row + step + window)) - row);
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      const int first = row + strip_tokens * b + g;
      Keys low, high;
      low.read(q.at(max(min(first, rows - 1), 0)));
      high.read(q.at(max(min(first + 8, rows - 1), 0)));
      strip[b].begin(low, high, signs);
    }
#pragma unroll 1
    for (int first = 0; first < globals; first += 16) {
      read_globals(first);
      const bool is_of_wide = to_wide == 0 && row == 0 && walk.wide_takes_globals != 0;
      take(
          Many ? first == 0 : true,
          [&](Scores& s) {
#pragma unroll
            for (int b = 0; b < strips; ++b) cut_by_keys(s[b], first, 0, globals);
          },
          is_of_wide ? wide_sight(first, 0, globals) : 0u, band_begin, true);
    }
    if (globals == 0) {
      // Each row's maximum is that of the 16 about itself.
#pragma unroll
      for (int b = 0; b < strips; ++b) {
        const int first = row + strip_tokens * b;
        read_band_keys(first, true);
        float s[2][4];
        strip[b].score(keys, s);
        cut_by_window(s, b, first, row);
        cut_by_keys(s, first, keys_begin, keys_end);
        strip[b].set_maximum(s, factor);
      }
      read_band_keys(band_begin, true);
      read_band_values(band_begin, true);
    }
#pragma unroll 1
    for (int distance = band_begin - row; distance < band_end; distance += 16) {
      const int first = row + distance;
      const bool is_of_wide = static_cast<unsigned>(distance - to_wide) < unsigned{step};
      take(
          false,
          [&](Scores& s) {
            if (distance < step - 1 - window || distance > window - 15) {
#pragma unroll
              for (int b = 0; b < strips; ++b) cut_by_window(s[b], b, first, row);
            }
            if (first < keys_begin || first + 16 > keys_end) {
#pragma unroll
              for (int b = 0; b < strips; ++b) cut_by_keys(s[b], first, keys_begin, keys_end);
            }
          },
          is_of_wide ? wide_sight(first, wide_begin, wide_end) : 0u,
          // Behind the last one nothing is used.
          first + 16, false);
    }
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].finish();
    bool is_odd = false;  // a sum or a result is not as it should be
    // Lane t writes the log-sum-exps of half t of the step's rows.
    float maximum = strip[0].maximum[0], sum = strip[0].sum[0];
#pragma unroll
    for (int half = 0; half < 2 * strips; ++half) {
      const BroadStrip<T, Columns>& mine = strip[half / 2];
      const int its_row = row + 8 * half + g;
      if (its_row < rows) {
        const std::uint32_t trace = store_share<T, Columns>(
            mine.o, approximate_inverse_of(mine.sum[half % 2]), half % 2, o.at(its_row));
        is_odd = is_odd || trace != 0 || !(mine.sum[half % 2] <= mine.most);
      }
      maximum = t == half ? mine.maximum[half % 2] : maximum;
      sum = t == half ? mine.sum[half % 2] : sum;
    }
    const int its_row = row + 8 * t + g;
    if (call.lse != nullptr && t < 2 * strips && its_row < rows) {
      call.lse[(static_cast<std::int64_t>(walk.rows.begin) + its_row) * call.heads + head] =
          log2_sum_exp(maximum, sum);
    }
    // What was written is then written again.
    const int any_odd = __any_sync(all_lanes, is_odd ? 1 : 0);
    careful = same_in_all(careful == 0 && any_odd != 0 ? 1 : 0);
    if (careful != 0) continue;
    row = same_in_all(row + step);
  } while (row < rows);
  __syncwarp();
  if (has_wide) leave_or_finish(wide, walk, call, head);
}

}  // namespace attnscope::cuda
