#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Backward for 16-bit numbers: walks along rows (grad_q) and along keys (grad_k, grad_v), the plan
// transposed. The stationary operands are strips of 16 rows or keys, several together; the other
// ones are streamed in chunks of 16, first the window's, then the globals. The weights follow from
// the log-sum-exp without a maximum, so that only the sums of a strip persist between chunks. All
// windows up to 128 tokens use the same code.
//
//             stationary     streamed    sums
//   rows      q, grad_o      k, v        grad_q += dS k, and D = grad_o . o, stored for keys
//   keys      k, v           q, grad_o   grad_k += dS^T q, grad_v += P^T grad_o
//
// In both, scores are the product of the first stationary and the first streamed operand, and dP
// that of the second ones, accumulated onto -D. Memory is read and written as in walk.cuh, in the
// chunks of band.cuh; if a result is not finite, a step is computed again in the careful mode, so
// that tokens outside a row's pattern do not affect it.
//
//   chunks    start one window, rounded up to 8, before a step's first row
//   globals   are kept in shared memory, in the order of the lanes
//   wide      rows use the chunks that begin within the walk's own rows, each of them once

#include "kernels/cuda/segment/band.cuh"

namespace attnscope::cuda {

/// The gradients that a walk sums, which determine the stationary operand.
enum class Sums : std::uint8_t { queries, keys, values, keys_and_values };
/// With keys of head dimension 64 the sums of both gradients do not fit: two launches.
inline constexpr int most_columns_of_both = 32;

template <Sums sums>
struct WalkSums {
  static constexpr bool of_keys = sums != Sums::queries;
  static constexpr bool has_by_score = sums != Sums::values;  // dS, for which dP is needed
  static constexpr bool has_second = has_by_score;            // PassingChunk
  static constexpr int gradients = sums == Sums::keys_and_values ? 2 : 1;
  /// The streamed tensor whose values gradient i sums.
  static __host__ __device__ constexpr int tensor_of(int i) { return sums == Sums::values ? 1 : i; }
  /// Whether the weights of gradient i are dS, without the scale; else P.
  static __host__ __device__ constexpr bool by_score(int i) { return has_by_score && i == 0; }
  static __device__ __forceinline__ const Output& gradient(const BackwardTensors& of, int i) {
    return !of_keys ? of.grad_q : has_by_score && i == 0 ? of.grad_k : of.grad_v;
  }
};

template <typename Part>
using KeptVector = std::conditional_t<sizeof(Part) % 16 == 0, uint4, uint2>;
/// Stores a lane's data in shared memory, next to that of the other lanes; returns where the next
/// data goes.
template <typename Part>
__device__ __forceinline__ std::byte* keep(std::byte* at, const Part& part) {
  using Vector = KeptVector<Part>;
#pragma unroll
  for (std::size_t i = 0; i < sizeof part; i += sizeof(Vector), at += 32 * sizeof(Vector)) {
    Vector vector;
    memcpy(&vector, reinterpret_cast<const std::byte*>(&part) + i, sizeof vector);
    reinterpret_cast<Vector*>(at)[lane_of_warp()] = vector;
  }
  return at;
}
/// Loads it again.
template <typename Part>
__device__ __forceinline__ std::byte* recall(std::byte* at, Part& part) {
  using Vector = KeptVector<Part>;
#pragma unroll
  for (std::size_t i = 0; i < sizeof part; i += sizeof(Vector), at += 32 * sizeof(Vector)) {
    const Vector vector = reinterpret_cast<const Vector*>(at)[lane_of_warp()];
    memcpy(reinterpret_cast<std::byte*>(&part) + i, &vector, sizeof vector);
  }
  return at;
}

/// RowNumbers for a lane's four scores of a tile.
struct TileNumbers {
  float minus_dots[4];
  float subtrahends[2];  // of its two rows
};

/// A chunk's values and numbers in the form used by all strips.
template <int Columns, Sums sums>
struct SummedChunk {
  using Of = WalkSums<sums>;

  ValueTile<Columns> values[Of::gradients][2];
  TileNumbers numbers[2];

  __device__ __forceinline__ void put(const PassingChunk<Columns, Of>& chunk) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int i = 0; i < Of::gradients; ++i) {
        values[i][u].put(chunk.values[i][u]);
      }
      if constexpr (Of::of_keys) {
        const RowNumbers &even = chunk.numbers[u][0], &odd = chunk.numbers[u][1];
        numbers[u] = {{even.minus_dot, odd.minus_dot, even.minus_dot, odd.minus_dot},
                      {even.subtrahend, odd.subtrahend}};
      }
    }
  }
};

/// dS and P of a strip and a chunk, as operands of their products with values.
template <Sums sums>
using StripWeights = std::uint32_t[WalkSums<sums>::gradients][4];

/// The sums of a strip. All functions are called by all lanes of the warp.
template <typename T, int Columns>
struct StripSums {
  float of[Columns / 8][4] = {};

  __device__ __forceinline__ void add(const std::uint32_t (&weights)[4],
                                      const ValueTile<Columns> (&values)[2]) {
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n)
      multiply_add<T>(of[n], weights, values[0].pair[n], values[1].pair[n]);
  }
  /// Stores the sums of row g + 8 h in a partial row.
  __device__ __forceinline__ void leave(int h, float* row) const {
    const int t = t_of_lane();
#pragma unroll
    for (int e = 0; e < 2; ++e) {
#pragma unroll
      for (int n = 0; n < Columns / 8; n += 4) {
        *reinterpret_cast<float4*>(row + Columns / 8 * (2 * t + e) + n) = float4{
            of[n][2 * h + e], of[n + 1][2 * h + e], of[n + 2][2 * h + e], of[n + 3][2 * h + e]};
      }
    }
  }
};

/// 16 stationary rows or keys. All functions are called by all lanes of the warp.
template <typename T, int Columns, Sums sums>
struct StandingStrip {
  using Of = WalkSums<sums>;
  static constexpr int gradients = Of::gradients;

  QueryFragments<Columns> first, second;
  TileNumbers numbers;  // of rows g and g + 8

  __device__ __forceinline__ std::byte* keep_at(std::byte* at) const {
    at = keep(at, first);
    if constexpr (Of::has_by_score) at = keep(at, second);
    if constexpr (!Of::of_keys) at = keep(at, numbers);
    return at;
  }
  __device__ __forceinline__ std::byte* recall_from(std::byte* at) {
    at = recall(at, first);
    if constexpr (Of::has_by_score) at = recall(at, second);
    if constexpr (!Of::of_keys) at = recall(at, numbers);
    return at;
  }

  /// row(tensor, i) returns the lane's share of row i of a tensor, 2 being o; lse(i) the row's
  /// log-sum-exp; know(i, numbers) receives the numbers computed for it. The first tensor's sign
  /// bits are flipped by `signs`, the others' by `zero` (QueryFragments::flip).
  template <typename Row, typename Lse, typename Know>
  __device__ __forceinline__ void begin(int count, std::uint32_t signs, std::uint32_t zero,
                                        const Row& row, const Lse& lse, const Know& know) {
    const int g = g_of_lane();
    const int low = min(g, count - 1), high = min(g + 8, count - 1);
    RowShare<Columns> a, b;
    a.read(row(0, low));
    b.read(row(0, high));
    first.put(a, b);
    first.flip(signs);
    if constexpr (Of::has_by_score) {
      a.read(row(1, low));
      b.read(row(1, high));
      second.put(a, b);
      second.flip(zero);
    }
    if constexpr (!Of::of_keys) {
      // D is the diagonal of grad_o o^T.
      a.read(row(2, low));
      b.read(row(2, high));
      float of_low[4] = {}, of_high[4] = {};
      add_scores<T>(of_low, second, a);
      add_scores<T>(of_high, second, b);
      const int owner = 4 * g + (g >> 1);
      const bool is_odd = (g & 1) != 0;
      const float dots[2] = {is_odd ? of_low[1] : of_low[0], is_odd ? of_high[3] : of_high[2]};
      // The tensor cores need four registers without modifiers: each number is loaded separately,
      // and negated in a way that is opaque to the compiler.
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        numbers.minus_dots[e] =
            flipped(__shfl_sync(all_lanes, dots[e / 2], owner), zero | 0x80000000u);
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        numbers.subtrahends[h] = subtrahend_of(lse(h == 0 ? low : high));
        if (g + 8 * h < count) {
          know(g + 8 * h, {numbers.subtrahends[h], numbers.minus_dots[3 * h]});
        }
      }
      __syncwarp();
    }
  }

  /// Computes the weights of a chunk; `cut(s)` masks scores with -inf, and after_scores() is called
  /// when the chunk's `first` and `second` are no longer needed. In the careful mode masked pairs
  /// do not contribute, and rows are NaN that attend to tokens in the bits 2 u, 2 u + 1 of
  /// `spoilt[i]`.
  template <bool Careful, typename Cut, typename AfterScores>
  __device__ __forceinline__ void weigh(StripWeights<sums>& weights,
                                        const PassingChunk<Columns, Of>& chunk,
                                        const SummedChunk<Columns, sums>& summed, float factor,
                                        const Cut& cut, const AfterScores& after_scores,
                                        const unsigned* spoilt = nullptr) const {
    ChunkScores s = {}, gradient = {};
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      add_scores<T>(s[u], first, chunk.first[u]);
      if constexpr (Of::has_by_score) {
        const TileNumbers& of_rows = Of::of_keys ? summed.numbers[u] : numbers;
#pragma unroll
        for (int e = 0; e < 4; ++e) gradient[u][e] = of_rows.minus_dots[e];
        add_scores<T>(gradient[u], second, chunk.second[u]);
      }
    }
    after_scores();
    cut(s);
    [[maybe_unused]] unsigned seen[2] = {};
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const bool counts = !Careful || s[u][e] != minus_infinity;
        if constexpr (Careful) seen[e / 2] |= (counts ? 1u : 0u) << (2 * u + e % 2);
        const float subtrahend =
            Of::of_keys ? summed.numbers[u].subtrahends[e % 2] : numbers.subtrahends[e / 2];
        const float weight = exp2_approx(fmaf(s[u][e], factor, -subtrahend));
        gradient[u][e] = counts ? weight * gradient[u][e] : 0.0f;
        s[u][e] = counts ? weight : 0.0f;
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int i = 0; i < gradients; ++i) {
          const float(&of)[4] = Of::by_score(i) ? gradient[u] : s[u];
          std::uint32_t& pair = weights[i][2 * u + h];
          pair = pair_of<T>(of[2 * h], of[2 * h + 1]);
          if constexpr (Careful) pair = with_nan(pair, (seen[h] & spoilt[i]) >> 2 * u);
        }
      }
    }
    if constexpr (Careful) __syncwarp();
  }
};

/// Registers per thread: an SM has 12 warps or 8. No instantiation spills.
template <int Columns, Sums sums>
inline constexpr int backward_walk_registers = Columns == 32 && sums == Sums::queries ? 168 : 255;
/// Shared memory of a warp in bytes: for globals, row addresses, and wide rows.
template <int Columns, Sums sums>
inline constexpr int kept_of_globals = 32 * (sizeof(RowShare<Columns>[2][2]) +
                                             sizeof(SummedChunk<Columns, sums>));
inline constexpr int kept_of_rows = 32 * 5 * sizeof(std::byte*);
template <int Columns, Sums sums>
inline constexpr int kept_by_warp = kept_of_globals<Columns, sums> + kept_of_rows +
                                    32 * (sizeof(StandingStrip<__half, Columns, sums>) +
                                          WalkSums<sums>::gradients *
                                              sizeof(StripSums<__half, Columns>));

/// What the parts of a warp's walk share. All functions are called by all lanes.
template <typename T, int Columns, Sums sums>
struct BackwardWalk {
  using Of = WalkSums<sums>;
  using Chunk = PassingChunk<Columns, Of>;
  using Summed = SummedChunk<Columns, sums>;
  using Strip = StandingStrip<T, Columns, sums>;
  using StripSum = StripSums<T, Columns>;
  using Share = RowShare<Columns>;
  using Values = ValueTile<Columns>;
  static constexpr int gradients = Of::gradients;
  static constexpr int strips = broad_strips<Columns>;
  static constexpr int step = strip_tokens * strips;

  const BackwardWalkArguments& call;
  const WorkWalk& walk;
  int head;
  RowNumbers* numbers;  // of the head
  int globals;
  // In shared memory.
  std::byte* globals_kept;
  std::byte* rows_kept;
  std::byte* wide_kept;

  /// The stationary tensors, 2 being o, and the streamed ones.
  [[nodiscard]] __device__ __forceinline__ const Input& standing(int tensor) const {
    return tensor == 2   ? call.o
           : tensor == 1 ? (Of::of_keys ? call.v : call.grad_o)
                         : (Of::of_keys ? call.k : call.q);
  }
  [[nodiscard]] __device__ __forceinline__ const Input& passing(int tensor) const {
    return tensor == 0 ? (Of::of_keys ? call.q : call.k) : (Of::of_keys ? call.grad_o : call.v);
  }
  [[nodiscard]] __device__ __forceinline__ float scale_of(int i) const {
    return Of::by_score(i) ? call.scale : 1.0f;
  }
  /// 0, but not as a compile-time constant.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t zero() const {
    return static_cast<std::uint32_t>(call.head_dim) >> 16;
  }
  [[nodiscard]] __device__ __forceinline__ float lse_of(int token) const {
    return __ldg(call.lse + static_cast<std::int64_t>(token) * call.heads + head);
  }

  __device__ __forceinline__ void keep_globals() const {
    const GlobalRows found(call, walk, head, passing(0), passing(1));
    const int g = g_of_lane(), t = t_of_lane();
    Chunk chunk;
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      chunk.first[u].read(of_lane(found.key, 8 * u + g) + Share::begin());
      if constexpr (Of::has_by_score)
        chunk.second[u].read(of_lane(found.value, 8 * u + g) + Share::begin());
      const int even = 8 * u + 2 * t;
#pragma unroll
      for (int i = 0; i < gradients; ++i) {
        const std::byte* const rows = Of::tensor_of(i) == 0 ? found.key : found.value;
        typename Values::Rows& values = chunk.values[i][u];
        values.read(of_lane(rows, even) + Values::begin(),
                    of_lane(rows, even + 1) + Values::begin());
        // Missing tokens have no values.
        if (even >= globals) values.first = {};
        if (even + 1 >= globals) values.second = {};
      }
      if constexpr (Of::of_keys) {
        const RowNumbers mine = read_numbers(numbers + found.token);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          chunk.numbers[u][e] = {__shfl_sync(all_lanes, mine.subtrahend, even + e),
                                 __shfl_sync(all_lanes, mine.minus_dot, even + e)};
        }
      }
    }
    __syncwarp();
    Summed summed;
    summed.put(chunk);
    std::byte* at = keep(globals_kept, chunk.first);
    if constexpr (Of::has_by_score) at = keep(at, chunk.second);
    at = keep(at, summed.values);
    if constexpr (Of::of_keys) keep(at, summed.numbers);
  }

  static __device__ __forceinline__ void add(const StripWeights<sums>& weights,
                                             const Summed& summed, StripSum (&to)[gradients]) {
#pragma unroll
    for (int i = 0; i < gradients; ++i) to[i].add(weights[i], summed.values[i]);
  }
  template <int count>
  __device__ __forceinline__ void add_globals(const Strip (&by)[count],
                                              StripSum (&sums_of)[count][gradients]) const {
    if (globals == 0) return;
    Chunk chunk;
    Summed summed;
    std::byte* at = recall(globals_kept, chunk.first);
    if constexpr (Of::has_by_score) at = recall(at, chunk.second);
    at = recall(at, summed.values);
    if constexpr (Of::of_keys) recall(at, summed.numbers);
#pragma unroll
    for (int b = 0; b < count; ++b) {
      StripWeights<sums> weights;
      by[b].template weigh<false>(
          weights, chunk, summed, call.factor, [](ChunkScores&) {}, [] {});
      add(weights, summed, sums_of[b]);
    }
  }

  __device__ __forceinline__ void begin_wide() const {
    Strip wide[1];
    StripSum sums_of_wide[1][gradients];
    wide[0].begin(
        walk.wide.count, call.signs, zero(),
        [&](int tensor, int i) {
          const Place at(call.items, walk.wide.begin + i);
          return HeadRows<const std::byte>(standing(tensor), head).at(at) + Share::begin();
        },
        [&](int i) { return lse_of(walk.wide.begin + i); },
        [&](int i, const RowNumbers& known) {
          if (walk.is_first_part != 0 && t_of_lane() == 0) numbers[walk.wide.begin + i] = known;
        });
    if (walk.wide_takes_globals != 0) add_globals_to_wide(wide, sums_of_wide);
    keep(wide[0].keep_at(wide_kept), sums_of_wide);
  }
  __device__ __forceinline__ void add_globals_to_wide(const Strip (&wide)[1],
                                                      StripSum (&sums_of)[1][gradients]) const {
    add_globals(wide, sums_of);
  }
  /// The wide rows use those of the 16 tokens from `first` on that are the walk's own rows.
  __device__ __forceinline__ void add_to_wide(const Chunk& chunk, const Summed& values, int first,
                                              int rows) const {
    Strip wide;
    StripWeights<sums> weights;
    std::byte* at = wide.recall_from(wide_kept);
    wide.template weigh<false>(
        weights, chunk, values, call.factor,
        [&](ChunkScores& s) {
          if (first < 0 || first + 16 > rows) cut_by_rows(s, first, rows);
        },
        [] {});
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      StripSum sum;
      recall(at, sum);
      sum.add(weights[i], values.values[i]);
      at = keep(at, sum);
    }
  }
  static __device__ __forceinline__ void cut_by_rows(ChunkScores& s, int first, int rows) {
    cut_by_keys(s, first, 0, rows);
  }
  /// Stores the wide rows' sums in partial rows; if the walk has all tokens, writes the rows.
  __device__ __forceinline__ void end_wide() const {
    Strip wide;
    std::byte* at = wide.recall_from(wide_kept);
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      StripSum sum;
      at = recall(at, sum);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = g_of_lane() + 8 * h;
        if (row >= walk.wide.count) continue;
        if (walk.first_slot >= 0) {
          sum.leave(h, partial_row(call, head, walk.first_slot + row) + i * Columns);
        } else {
          finish_wide(i, sum, h, row);
        }
      }
    }
  }
  __device__ __forceinline__ void finish_wide(int i, const StripSum& sum, int h, int row) const {
    std::byte* to = HeadRows<std::byte>(Of::gradient(call, i), head)
                        .at(Place(call.items, walk.wide.begin + row));
    store_share<T, Columns>(sum.of, scale_of(i), h, to + output_begin<Columns>(), true);
  }
};

/// The steps of a walk. All functions are called by all lanes of the warp.
template <typename T, int Columns, Sums sums>
struct BackwardSteps {
  using Walk = BackwardWalk<T, Columns, sums>;
  using Of = WalkSums<sums>;
  static constexpr int gradients = Of::gradients, strips = Walk::strips, step = Walk::step;
  static constexpr int standing_tensors = Of::of_keys ? 2 : 3;
  using Strips = typename Walk::Strip[strips];
  using StepSums = typename Walk::StripSum[strips][gradients];

  // References to variables of the kernel: as members, arrays would not be in registers.
  const Walk& of;
  const WalkBand& band;
  const BandRows<Columns, Of>& passing;
  int origin;  // the walk's first row
  bool has_wide;
  typename Walk::Chunk& chunk;

  /// Keeps the addresses of the walk's first row, which a step uses only once.
  __device__ __forceinline__ void keep_rows(const Place& place) const {
    const std::byte* standing[standing_tensors];
#pragma unroll
    for (int i = 0; i < standing_tensors; ++i) {
      standing[i] =
          HeadRows<const std::byte>(of.standing(i), of.head).at(place) + RowShare<Columns>::begin();
    }
    std::byte* results[gradients];
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      results[i] = HeadRows<std::byte>(Of::gradient(of.call, i), of.head).at(place) +
                   output_begin<Columns>();
    }
    keep(keep(of.rows_kept, standing), results);
  }

  /// Returns where the addresses of the results are kept.
  __device__ __forceinline__ std::byte* begin_strips(Strips& strip, int row) const {
    const std::byte* standing[standing_tensors];
    std::byte* const results_kept = recall(of.rows_kept, standing);
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      const int first = row + strip_tokens * b;
      const int from = min(first, band.rows - 1);
      strip[b].begin(
          max(band.rows - first, 1), of.call.signs, of.zero(),
          [&](int tensor, int i) {
            return row_at(standing[tensor], from + i,
                          static_cast<int>(of.standing(tensor).token_stride));
          },
          [&](int i) { return of.lse_of(origin + from + i); },
          [&](int i, const RowNumbers& known) {
            if (t_of_lane() == 0 && first < band.rows) of.numbers[origin + from + i] = known;
          });
    }
    return results_kept;
  }

  __device__ __forceinline__ void take_inner(const Strips& strip, StepSums& sums_of,
                                             const typename Walk::Summed& values, int first) const {
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      StripWeights<sums> weights;
      strip[b].template weigh<false>(
          weights, chunk, values, of.call.factor, [](ChunkScores&) {},
          [&] {
            if (b + 1 == strips) passing.read_scored(chunk, first + 16);
          });
      Walk::add(weights, values, sums_of[b]);
    }
    passing.read_summed(chunk, first + 16);
  }

  __device__ __forceinline__ void take_seen(const typename Walk::Strip& strip,
                                            typename Walk::StripSum (&sums_of)[gradients],
                                            const typename Walk::Summed& values, int first,
                                            int distance, bool careful,
                                            const unsigned (&spoilt)[gradients]) const {
    const auto cut = [&](ChunkScores& s) { band.cut(s, first, distance); };
    StripWeights<sums> weights;
    if (careful) {
      weigh_carefully(strip, weights, values, cut, spoilt);
    } else {
      strip.template weigh<false>(weights, chunk, values, of.call.factor, cut, [] {});
    }
    Walk::add(weights, values, sums_of);
  }
  template <typename Cut>
  __device__ __forceinline__ void weigh_carefully(const typename Walk::Strip& strip,
                                                  StripWeights<sums>& weights,
                                                  const typename Walk::Summed& values,
                                                  const Cut& cut,
                                                  const unsigned (&spoilt)[gradients]) const {
    strip.template weigh<true>(
        weights, chunk, values, of.call.factor, cut, [] {}, spoilt);
  }
  __device__ __forceinline__ void take_rim(const Strips& strip, StepSums& sums_of,
                                           const typename Walk::Summed& values,
                                           const StepChunks& chunks, int row, int distance,
                                           bool careful,
                                           const unsigned (&spoilt)[gradients]) const {
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      const int of_strip = distance - strip_tokens * b;
      if (row + strip_tokens * b < band.rows && band.is_seen(of_strip)) {
        take_seen(strip[b], sums_of[b], values, row + distance, of_strip, careful, spoilt);
      }
    }
    if (distance + 16 < chunks.end) passing.read_next(chunk, row + distance);
  }

  __device__ __forceinline__ void take_chunk(const Strips& strip, StepSums& sums_of,
                                             const StepChunks& chunks, int row, int distance,
                                             int wide_begin, int wide_end, bool careful) const {
    typename Walk::Summed values;
    values.put(chunk);
    unsigned spoilt[gradients] = {};
    if (careful) {
#pragma unroll
      for (int i = 0; i < gradients; ++i) spoilt[i] = clean_chunk<T>(values.values[i]);
    }
    if (distance >= wide_begin && distance < wide_end)
      of.add_to_wide(chunk, values, row + distance, band.rows);
    if (chunks.is_inner(distance)) {
      take_inner(strip, sums_of, values, row + distance);
    } else {
      take_rim(strip, sums_of, values, chunks, row, distance, careful, spoilt);
    }
  }

  /// Returns whether a result is not finite.
  __device__ __forceinline__ bool write_step(const StepSums& sums_of, std::byte* results_kept,
                                             int row) const {
    std::byte* results[gradients];
    recall(results_kept, results);
    std::uint32_t trace = 0;
#pragma unroll
    for (int b = 0; b < strips; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int mine = row + strip_tokens * b + g_of_lane() + 8 * h;
#pragma unroll
        for (int i = 0; i < gradients; ++i) {
          std::byte* const to =
              row_at(results[i], mine, static_cast<int>(Of::gradient(of.call, i).token_stride));
          trace = store_share<T, Columns>(sums_of[b][i].of, of.scale_of(i), h, to, mine < band.rows,
                                          trace);
        }
      }
    }
    return __any_sync(all_lanes, trace != 0 ? 1 : 0) != 0;
  }

  /// Computes and writes the rows from `row` on; in the careful mode, for the second time. Returns
  /// whether a result is not finite.
  __device__ __forceinline__ bool take_step(int row, bool careful) const {
    __syncwarp();
    const int left = band.rows - row, phase = (band.window + 7) & 8;
    const StepChunks chunks(band, row, step, phase, careful);
    // End of the chunks that the wide rows use; after the last step's rows, all remaining ones.
    const int wide_end = opaque(!has_wide || careful ? -phase : left <= step ? left : step - phase);
    if (chunks.begin < chunks.end) passing.read(chunk, row + chunks.begin);
    typename Walk::Strip strip[strips];
    typename Walk::StripSum sums_of[strips][gradients];
    std::byte* const results_kept = begin_strips(strip, row);
#pragma unroll 1
    for (int distance = chunks.begin; distance < chunks.end; distance += 16)
      take_chunk(strip, sums_of, chunks, row, distance, -phase, wide_end, careful);
    of.add_globals(strip, sums_of);
    return write_step(sums_of, results_kept, row);
  }
};

template <typename T, int Columns, Sums sums>
__global__ void __maxnreg__((backward_walk_registers<Columns, sums>))
    segment_backward_walk_kernel(BackwardWalkArguments call) {
  using Walk = BackwardWalk<T, Columns, sums>;
  const OwnWalk own(call, call.by_head);
  if (!own.exists) return;
  const WorkWalk& walk = call.list.walks[own.number];
  std::byte* const kept =
      dynamic_shared() + static_cast<int>(threadIdx.x >> 5) * kept_by_warp<Columns, sums>;
  const Walk of{.call = call,
                .walk = walk,
                .head = own.head,
                .numbers = call.numbers + own.head * call.tokens,
                .globals = same_in_all(walk.globals.count),
                .globals_kept = kept,
                .rows_kept = kept + kept_of_globals<Columns, sums>,
                .wide_kept = kept + kept_of_globals<Columns, sums> + kept_of_rows};
  if (of.globals > 0) of.keep_globals();
  const bool has_wide = same_in_all(walk.wide.count) > 0;
  if (has_wide) of.begin_wide();

  const WalkBand band(walk);
  const int origin = same_in_all(walk.rows.begin);
  const Place place(call.items, origin);
  typename Walk::Chunk chunk;
  const BandRows<Columns, WalkSums<sums>> passing(band, of.passing(0), of.passing(1), own.head,
                                                  place, of.numbers + origin);
  const BackwardSteps<T, Columns, sums> steps{.of = of,
                                              .band = band,
                                              .passing = passing,
                                              .origin = origin,
                                              .has_wide = has_wide,
                                              .chunk = chunk};
  steps.keep_rows(place);
  if (band.rows > 0) {
    take_steps(walk, band.rows, Walk::step,
               [&](int row, bool careful) { return steps.take_step(row, careful); });
  }
  if (has_wide) of.end_wide();
}

/// Adds up the parts of wide rows in order: one warp per row and head.
template <typename T, Sums sums>
__global__ void merge_backward_walks_kernel(BackwardWalkArguments call) {
  const WalkArguments& a = call;
  const MergedWalkRow merged(a);
  if (!merged.exists) return;
  const int lane = lane_of_warp();
  for (int column = lane; column < a.head_dim; column += 32) {
#pragma unroll
    for (int i = 0; i < WalkSums<sums>::gradients; ++i) {
      float total = 0.0f;
      for (int p = 0; p < merged.parts; ++p) total += merged.part(p)[i * a.head_dim + column];
      std::byte* row = HeadRows<std::byte>(WalkSums<sums>::gradient(call, i), merged.head)
                           .at(Place(a.items, merged.token));
      reinterpret_cast<T*>(row)[column] =
          from_float<T>(total * (WalkSums<sums>::by_score(i) ? a.scale : 1.0f));
    }
  }
}

}  // namespace attnscope::cuda
