#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Forward for windows of 17 to 128 tokens and 16-bit numbers (kernels/cuda/work_list.h): like
// walk.cuh, but the keys of several adjacent strips are streamed in chunks of 16 (band.cuh). A
// row's maximum is replaced by the score of one of its keys, the first global or, without globals,
// itself, and its weights are relative to it: they may grow to the limits of the number format and
// their sum. If a sum has become too large or a result is not finite, the step is computed again in
// the careful mode: maxima are raised (online softmax: Milakov and Gimelshein, 2018) and values
// that are not finite are cleaned, chunk by chunk. A row's result depends only on its own keys,
// whichever mode computes it.
//
// Walks are short and a block's warps have adjacent walks, or alternate steps, of one head, so that
// their overlapping keys are found in the first-level cache.

#include "kernels/cuda/segment/band.cuh"

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
  __device__ __forceinline__ void correct(const ChunkScores& s, float factor, unsigned spoilt) {
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

/// What the kernel streams (PassingChunk): keys, and their values.
struct ForwardStream {
  static constexpr bool has_second = false, of_keys = false;
  static constexpr int gradients = 1;
  static __host__ __device__ constexpr int tensor_of(int) { return 1; }
};

/// A walk of one warp. All functions are called by all lanes.
template <typename T, int Columns, bool Many>
struct BroadWalk {
  using Keys = RowShare<Columns>;
  using Values = ValueTile<Columns>;
  static constexpr int strips = broad_strips<Columns>;
  static constexpr int step = strip_tokens * strips;

  // References to variables of the kernel: as members, its arrays would not be in registers.
  const ForwardWalkArguments& call;
  const WorkWalk& walk;
  int head;
  WideRows<T, Columns, WalkTiles<false, Many>::of_wide>& wide;
  bool has_wide;
  const WalkBand& band;
  const RowsFrom<const std::byte>& q;
  const BandRows<Columns, ForwardStream>& passing;
  const RowsFrom<std::byte>& o;
  const GlobalRows& of_globals;
  int globals;
  int wide_begin, wide_end;  // of the band's keys
  PassingChunk<Columns, ForwardStream>& chunk;
  BroadStrip<T, Columns> (&strip)[strips];

  __device__ __forceinline__ void put_values(Values (&values)[2]) const {
    values[0].put(chunk.values[0][0]);
    values[1].put(chunk.values[0][1]);
  }

  /// One inner chunk from token `first` on.
  template <bool WithWide>
  __device__ __forceinline__ void take_inner(int first) {
    ChunkScores s[strips];
    strip[0].score(chunk.first, s[0]);
    if constexpr (WithWide) wide.weigh(chunk.first[0], chunk.first[1], 0xfu, call.factor);
#pragma unroll
    for (int b = 1; b < strips; ++b) strip[b].score(chunk.first, s[b]);
    passing.read_scored(chunk, first + 16);
    Values values[2];
    put_values(values);
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].weigh(s[b], call.factor);
#pragma unroll
    for (int b = 0; b < strips; ++b) strip[b].accumulate(values);
    if constexpr (WithWide) wide.accumulate(values[0], values[1], 0);
    passing.read_summed(chunk, first + 16);
  }
  /// Inner chunks from `distance` on, which the wide rows do not use, or use whole.
  __device__ __forceinline__ int take_stretch(const StepChunks& chunks, int row, int distance,
                                              bool by_wide) {
    const bool ends_at_rows = by_wide && distance < 0;
    const int end = ends_at_rows ? min(chunks.inner_end, 0) : chunks.inner_end;
#pragma unroll 1
    for (; distance < end; distance += 16) take_inner<false>(row + distance);
    return distance;
  }
  __device__ __forceinline__ int take_whole(const StepChunks& chunks, int row, int distance) {
    const int end = min(chunks.inner_end, step);
#pragma unroll 1
    for (; distance < end; distance += 16) take_inner<true>(row + distance);
    return distance;
  }

  /// Adds the masked scores of a strip.
  __device__ __forceinline__ void add(BroadStrip<T, Columns>& to, const ChunkScores& s,
                                      const Values (&values)[2], bool careful, unsigned spoilt) {
    to.weigh(s, call.factor);
    if (careful) to.correct(s, call.factor, spoilt);
    to.accumulate(values);
  }
  /// The wide rows use the tokens from `begin` to `end` of the 16 from `first` on.
  __device__ __forceinline__ void add_to_wide(const Values (&values)[2], int first, int begin,
                                              int end) {
    wide.weigh(chunk.first[0], chunk.first[1], seen_keys<2>(first, begin, end), call.factor);
    wide.accumulate(values[0], values[1], 0);
  }

  __device__ __forceinline__ void take_globals(int first, bool careful, bool by_wide) {
#pragma unroll
    for (int i = 0; i < 2; ++i) of_globals.read(first + 8 * i, chunk.first[i], chunk.values[0][i]);
    Values values[2];
    put_values(values);
    const unsigned spoilt = careful ? clean_chunk<T>(values) : 0u;
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      ChunkScores s;
      strip[b].score(chunk.first, s);
      if (!Many || first == 0)
        strip[b].set_maximum(s[0][0], s[0][2], lane_of_warp() & 28, call.factor);
      cut_by_keys(s, first, 0, globals);
      add(strip[b], s, values, careful, spoilt);
    }
    if (by_wide) add_to_wide(values, first, 0, globals);
  }

  /// Without globals, a row's maximum is its score with itself.
  __device__ __forceinline__ void set_maxima(int row) {
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      passing.read(chunk, row + strip_tokens * b);
      ChunkScores s;
      strip[b].score(chunk.first, s);
      const int g = g_of_lane();
      const bool is_odd = (g & 1) != 0;
      strip[b].set_maximum(is_odd ? s[0][1] : s[0][0], is_odd ? s[1][3] : s[1][2], 4 * g + (g >> 1),
                           call.factor);
    }
  }

  __device__ __forceinline__ void take_seen(int b, int first, int distance,
                                            const Values (&values)[2], bool careful,
                                            unsigned spoilt) {
    ChunkScores s;
    strip[b].score(chunk.first, s);
    band.cut(s, first, distance);
    add(strip[b], s, values, careful, spoilt);
  }
  __device__ __forceinline__ int take_rim(const StepChunks& chunks, int row, int distance,
                                          bool careful, bool by_wide) {
    const int first = row + distance;
    Values values[2];
    put_values(values);
    const unsigned spoilt = careful ? clean_chunk<T>(values) : 0u;
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      const int of_strip = distance - strip_tokens * b;
      if (band.is_seen(of_strip)) take_seen(b, first, of_strip, values, careful, spoilt);
    }
    if (by_wide) add_to_wide(values, first, wide_begin, wide_end);
    if (distance + 16 < chunks.end) passing.read_next(chunk, first);
    return distance + 16;
  }

  /// Takes the chunk at `distance`, or a stretch of inner chunks, and returns the next distance.
  __device__ __forceinline__ int take_chunks(const StepChunks& chunks, int row, int distance,
                                             bool careful, bool by_wide, bool is_whole) {
    const bool is_of_wide = by_wide && distance >= 0 && distance < step;
    if (chunks.is_inner(distance) && !is_of_wide)
      return take_stretch(chunks, row, distance, by_wide);
    if (chunks.is_inner(distance) && is_whole) return take_whole(chunks, row, distance);
    return take_rim(chunks, row, distance, careful, is_of_wide);
  }

  /// Computes and writes the rows from `row` on; in the careful mode, for the second time. Returns
  /// whether a sum or a result is out of range or not finite.
  __device__ __forceinline__ bool take_step(int row, bool careful) {
    __syncwarp();
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      const int first = row + strip_tokens * b + g_of_lane(), last = max(band.rows - 1, 0);
      Keys low, high;
      low.read(q.at(min(first, last)));
      high.read(q.at(min(first + 8, last)));
      strip[b].begin(low, high, call.signs);
    }
    const bool by_wide = has_wide && !careful;
    // Each key is in one of the wide rows' chunks.
    const StepChunks chunks(band, row, step, /*phase=*/0, careful);
    const bool globals_by_wide = by_wide && row == 0 && walk.wide_takes_globals != 0;
#pragma unroll 1
    for (int first = 0; first < globals; first += 16) take_globals(first, careful, globals_by_wide);
    if (globals == 0) set_maxima(row);
    const bool is_whole = row >= wide_begin && row + step <= wide_end;
    if (chunks.begin < chunks.end) passing.read(chunk, row + chunks.begin);
#pragma unroll 1
    for (int distance = chunks.begin; distance < chunks.end;)
      distance = take_chunks(chunks, row, distance, careful, by_wide, is_whole);
    return write_step(row);
  }

  __device__ __forceinline__ bool write_step(int row) {
    const int g = g_of_lane(), t = t_of_lane();
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
                                      o.at(its_row), its_row < band.rows, trace);
      is_odd = is_odd || !(mine.sum[i % 2] <= mine.most);
      maximum = t == i ? mine.maximum[i % 2] : maximum;
      sum = t == i ? mine.sum[i % 2] : sum;
    }
    const int its_row = row + 8 * t + g;
    if (call.lse != nullptr && t < 2 * strips && its_row < band.rows) {
      call.lse[static_cast<std::int64_t>(walk.rows.begin + its_row) * call.heads + head] =
          log2_sum_exp(maximum, sum);
    }
    return __any_sync(all_lanes, is_odd || trace != 0 ? 1 : 0) != 0;
  }
};

template <typename T, int Columns, bool Many>
__global__ void __maxnreg__((broad_registers<Columns, Many>))
    segment_broad_walk_kernel(ForwardWalkArguments call) {
  const OwnWalk own(call, /*by_head=*/true);
  if (!own.exists) return;
  const WorkWalk& walk = call.list.walks[own.number];
  WideRows<T, Columns, WalkTiles<false, Many>::of_wide> wide;
  const bool has_wide = same_in_all(walk.wide.count) > 0;
  if (has_wide) wide.begin(call, walk, own.head);
  using Walk = BroadWalk<T, Columns, Many>;
  const WalkBand band(walk);
  const Place origin(call.items, walk.rows.begin);
  const RowsFrom<const std::byte> q(call.q, own.head, origin, RowShare<Columns>::begin());
  const BandRows<Columns, ForwardStream> passing(band, call.k, call.v, own.head, origin);
  const RowsFrom<std::byte> o(call.o, own.head, origin, output_begin<Columns>());
  const GlobalRows of_globals(call, walk, own.head, call.k, call.v);
  const int wide_begin = same_in_all(walk.wide_begin - walk.rows.begin);
  PassingChunk<Columns, ForwardStream> chunk;
  BroadStrip<T, Columns> strip[Walk::strips];
  Walk steps{.call = call,
             .walk = walk,
             .head = own.head,
             .wide = wide,
             .has_wide = has_wide,
             .band = band,
             .q = q,
             .passing = passing,
             .o = o,
             .of_globals = of_globals,
             .globals = same_in_all(walk.globals.count),
             .wide_begin = wide_begin,
             .wide_end = same_in_all(has_wide ? walk.wide_end - walk.rows.begin : wide_begin),
             .chunk = chunk,
             .strip = strip};
  take_steps(walk, band.rows, Walk::step,
             [&](int row, bool careful) { return steps.take_step(row, careful); });
  if (has_wide) wide.end(call, walk, own.head);
}

}  // namespace attnscope::cuda
