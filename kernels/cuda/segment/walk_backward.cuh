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
// that of the second ones, accumulated onto -D. Memory is read and written as in walk.cuh, and as
// in broad_walk.cuh nothing is checked meanwhile: if a result is not finite, a step is computed
// again in the careful mode, so that tokens outside a row's pattern do not affect it.
//
//   chunks    have the same alignment in all steps of a walk: they start one window, rounded up to
//             8, before a step's first row; a strip uses the chunks within its window
//   globals   are kept in shared memory, in the order of the lanes
//   wide      rows use the chunks that begin within the walk's own rows, each of them once

#include "kernels/cuda/segment/walk.cuh"

namespace attnscope::cuda {

/// The gradients that a walk sums, which determine the stationary operand.
enum class Sums : std::uint8_t { queries, keys, values, keys_and_values };
/// With keys of head dimension 64 the sums of both gradients do not fit: two launches.
inline constexpr int most_columns_of_both = 32;

template <Sums sums>
struct WalkSums {
  static constexpr bool of_keys = sums != Sums::queries;
  static constexpr bool has_by_score = sums != Sums::values;  // dS, for which dP is needed
  static constexpr int gradients = sums == Sums::keys_and_values ? 2 : 1;
  /// The streamed tensor whose values gradient i sums.
  static __host__ __device__ constexpr int tensor_of(int i) { return sums == Sums::values ? 1 : i; }
  /// Whether the weights of gradient i are dS, without the scale; else P.
  static __host__ __device__ constexpr bool by_score(int i) { return has_by_score && i == 0; }
  static __device__ __forceinline__ const Output& gradient(const BackwardTensors& of, int i) {
    return !of_keys ? of.grad_q : has_by_score && i == 0 ? of.grad_k : of.grad_v;
  }
};

/// Memory for data of a warp's lanes that is used later: in shared memory, with separate space for
/// each lane.
struct LanePlaces {
  std::byte* next;
  bool keeps;  // stores; otherwise loads the stored data

  template <typename Part>
  __device__ __forceinline__ void operator()(Part& part) {
    using Vector = std::conditional_t<sizeof(Part) % 16 == 0, uint4, uint2>;
#pragma unroll
    for (std::size_t i = 0; i < sizeof part; i += sizeof(Vector)) {
      Vector& place = reinterpret_cast<Vector*>(next)[lane_of_warp()];
      std::byte* const here = reinterpret_cast<std::byte*>(&part) + i;
      Vector vector;
      if (keeps) {
        memcpy(&vector, here, sizeof vector);
        place = vector;
      } else {
        vector = place;
        memcpy(here, &vector, sizeof vector);
      }
      next += 32 * sizeof vector;
    }
  }
};

__device__ __forceinline__ RowNumbers read_numbers(const RowNumbers* of) {
  const float2 both = __ldg(reinterpret_cast<const float2*>(of));
  return {both.x, both.y};
}

/// RowNumbers for a lane's four scores of a tile.
struct TileNumbers {
  float minus_dots[4];
  float subtrahends[2];  // of its two rows
};

/// 16 streamed tokens as loaded; tile u has those from 8 u on.
template <int Columns, Sums sums>
struct PassingChunk {
  RowShare<Columns> first[2], second[2];  // of token g of a tile; the second for dP only
  // Values of tokens 2 t and 2 t + 1; numbers of queries only.
  typename ValueTile<Columns>::Rows values[WalkSums<sums>::gradients][2];
  RowNumbers numbers[2][2];
};

/// Their values and numbers in the form used by all strips.
template <int Columns, Sums sums>
struct SummedChunk {
  using Of = WalkSums<sums>;

  ValueTile<Columns> values[Of::gradients][2];
  TileNumbers numbers[2];

  __device__ __forceinline__ void put(const PassingChunk<Columns, sums>& chunk) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int i = 0; i < Of::gradients; ++i) {
        values[i][u].put(chunk.values[i][u]);
        // Not repeated for every strip.
#pragma unroll
        for (std::uint32_t& pair : values[i][u].pair)
          pair = static_cast<std::uint32_t>(opaque(static_cast<int>(pair)));
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

  __device__ __forceinline__ void pass(LanePlaces& places) {
    places(first);
    if constexpr (Of::has_by_score) places(second);
    if constexpr (!Of::of_keys) places(numbers);
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
                                        const PassingChunk<Columns, sums>& chunk,
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

template <typename T, int Columns, Sums sums>
__global__ void __maxnreg__((backward_walk_registers<Columns, sums>))
    segment_backward_walk_kernel(BackwardWalkArguments call) {
  using Of = WalkSums<sums>;
  using Chunk = PassingChunk<Columns, sums>;
  using Summed = SummedChunk<Columns, sums>;
  using Strip = StandingStrip<T, Columns, sums>;
  using StripSum = StripSums<T, Columns>;
  using Share = RowShare<Columns>;
  using Values = ValueTile<Columns>;
  constexpr int gradients = Of::gradients;
  constexpr int strips = broad_strips<Columns>;
  constexpr int step = strip_tokens * strips;
  const int g = g_of_lane(), t = t_of_lane();
  const int number = static_cast<int>(warp_number());
  if (number >= call.walks * call.heads) return;
  // Adjacent broad walks share streamed tokens: they belong to one head.
  const int divisor = call.broad ? call.walks : call.heads, whole = number / divisor;
  const int remainder = number - whole * divisor;
  const WorkWalk& walk = call.list.walks[call.broad ? remainder : whole];
  const int head = call.broad ? whole : remainder;
  const std::uint32_t zero = static_cast<std::uint32_t>(call.head_dim) >> 16;
  constexpr int standing_tensors = Of::of_keys ? 2 : 3;
  const auto standing_of = [&](int tensor) -> const Input& {
    return tensor == 2   ? call.o
           : tensor == 1 ? (Of::of_keys ? call.v : call.grad_o)
                         : (Of::of_keys ? call.k : call.q);
  };
  const Input& passing0 = Of::of_keys ? call.q : call.k;
  const Input& passing1 = Of::of_keys ? call.grad_o : call.v;
  RowNumbers* const numbers = call.numbers + head * call.tokens;
  const auto lse_of = [&](int token) {
    return __ldg(call.lse + static_cast<std::int64_t>(token) * call.heads + head);
  };
  const auto scale_of = [&](int i) { return Of::by_score(i) ? call.scale : 1.0f; };
  const auto uncut = [](ChunkScores&) {};
  const auto nothing = [] {};

  std::byte* const kept =
      dynamic_shared() + static_cast<int>(threadIdx.x >> 5) * kept_by_warp<Columns, sums>;
  std::byte* const rows_kept = kept + kept_of_globals<Columns, sums>;
  std::byte* const wide_kept = rows_kept + kept_of_rows;
  const auto pass_globals = [&](Chunk& chunk, Summed& summed, bool keeps) {
    LanePlaces places{kept, keeps};
    places(chunk.first);
    if constexpr (Of::has_by_score) places(chunk.second);
    places(summed.values);
    if constexpr (Of::of_keys) places(summed.numbers);
  };
  const int globals = same_in_all(walk.globals.count);
  if (globals > 0) {
    const GlobalRows found(call, walk, head, passing0, passing1);
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
    Summed summed;
    summed.put(chunk);
    pass_globals(chunk, summed, true);
  }
  const auto add = [](const StripWeights<sums>& weights, const Summed& summed,
                      StripSum(&to)[gradients]) {
#pragma unroll
    for (int i = 0; i < gradients; ++i) to[i].add(weights[i], summed.values[i]);
  };
  const auto take_globals = [&]<int count>(const Strip(&by)[count],
                                           StripSum(&sums_of)[count][gradients]) {
    if (globals == 0) return;
    Chunk chunk;
    Summed summed;
    pass_globals(chunk, summed, false);
#pragma unroll
    for (int b = 0; b < count; ++b) {
      StripWeights<sums> weights;
      by[b].template weigh<false>(weights, chunk, summed, call.factor, uncut, nothing);
      add(weights, summed, sums_of[b]);
    }
  };

  const bool has_wide = same_in_all(walk.wide.count) > 0;
  if (has_wide) {
    Strip wide[1];
    StripSum sums_of_wide[1][gradients];
    wide[0].begin(
        walk.wide.count, call.signs, zero,
        [&](int tensor, int i) {
          const Place at(call.items, walk.wide.begin + i);
          return HeadRows<const std::byte>(standing_of(tensor), head).at(at) + Share::begin();
        },
        [&](int i) { return lse_of(walk.wide.begin + i); },
        [&](int i, const RowNumbers& known) {
          if (walk.is_first_part != 0 && t == 0) numbers[walk.wide.begin + i] = known;
        });
    if (walk.wide_takes_globals != 0) take_globals(wide, sums_of_wide);
    LanePlaces places{wide_kept, true};
    wide[0].pass(places);
    places(sums_of_wide);
  }

  // From here on tokens are counted from the walk's first row.
  const int rows = same_in_all(walk.rows.count);
  const int origin = same_in_all(walk.rows.begin);
  const int window = same_in_all(walk.window);
  const int keys_begin = same_in_all(walk.keys_begin) - origin;
  const int keys_end = same_in_all(walk.keys_end) - origin;
  const int phase = (window + 7) & 8;
  const Place its_place(call.items, origin);
  // Data that a step uses only once is kept in shared memory.
  {
    const std::byte* standing[standing_tensors];
#pragma unroll
    for (int i = 0; i < standing_tensors; ++i)
      standing[i] = HeadRows<const std::byte>(standing_of(i), head).at(its_place) + Share::begin();
    std::byte* results[gradients];
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      results[i] =
          HeadRows<std::byte>(Of::gradient(call, i), head).at(its_place) + output_begin<Columns>();
    }
    LanePlaces places{rows_kept, true};
    places(standing);
    places(results);
  }
  // Rows of a chunk: relative to the lane's first ones, g and 2 t.
  RowsFrom<const std::byte> scored[2] = {{passing0, head, its_place, Share::begin()},
                                         {passing1, head, its_place, Share::begin()}};
  RowsFrom<const std::byte> summed[2] = {scored[0], scored[1]};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    scored[i].base = opaque(scored[i].at(g));
    summed[i].base = opaque(summed[i].at(2 * t) + (Values::begin() - Share::begin()));
  }
  RowNumbers* const its_numbers = numbers + origin;

  Chunk chunk;
  /// Loads from the band, starting at `first`: the operands of scores, and the rest.
  const auto read_scored = [&](int first) {
#pragma unroll
    for (int i = 0; i < (Of::has_by_score ? 2 : 1); ++i) {
      Share(&to)[2] = i == 0 ? chunk.first : chunk.second;
      const std::byte* at = scored[i].at(first);
      to[0].read(at);
      to[1].read(row_at(at, 8, scored[i].stride));
    }
  };
  const auto read_summed = [&](int first) {
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      const RowsFrom<const std::byte>& of = summed[Of::tensor_of(i)];
      const std::byte *at = of.at(first), *after = row_at(at, 8, of.stride);
      chunk.values[i][0].read(at, row_at(at, 1, of.stride));
      chunk.values[i][1].read(after, row_at(after, 1, of.stride));
    }
    if constexpr (Of::of_keys) {
      const RowNumbers* const at = its_numbers + first + 2 * t;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        chunk.numbers[e / 2][e % 2] = read_numbers(at + 8 * (e / 2) + e % 2);
    }
  };
  const auto is_there = [&](int first) { return first >= keys_begin && first + 16 <= keys_end; };
  /// The nearest token replaces a missing one.
  const auto read_band = [&](int first) {
    if (is_there(first)) {
      read_scored(first);
      read_summed(first);
      return;
    }
    const auto near = [&](int own, int after) {
      return max(keys_begin, min(first + own + after, keys_end - 1)) - own;
    };
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      chunk.first[u].read(scored[0].at(near(g, 8 * u)));
      if constexpr (Of::has_by_score) chunk.second[u].read(scored[1].at(near(g, 8 * u)));
      const int even = near(2 * t, 8 * u), odd = near(2 * t, 8 * u + 1);
#pragma unroll
      for (int i = 0; i < gradients; ++i) {
        const RowsFrom<const std::byte>& of = summed[Of::tensor_of(i)];
        chunk.values[i][u].read(of.at(even), of.at(odd));
      }
      if constexpr (Of::of_keys) {
        chunk.numbers[u][0] = read_numbers(its_numbers + even + 2 * t);
        chunk.numbers[u][1] = read_numbers(its_numbers + odd + 2 * t);
      }
    }
  };

  /// Computes and writes the rows from `row` on; in the careful mode, for the second time. Returns
  /// whether a result is not finite.
  const auto take_step = [&](int row, bool careful) {
    __syncwarp();
    const int left = rows - row;
    // Counted from the step's first row.
    const int band_begin = ((max(keys_begin - row, -window) + phase) & ~15) - phase;
    const int band_end =
        opaque(window < 0 ? band_begin : min(keys_end - row, min(step, left) + window));
    const int inner_begin = opaque(max(keys_begin - row, step - 1 - window));
    const int inner_end = opaque(careful ? inner_begin : min(keys_end - row - 31, window - 14));
    // End of the chunks that the wide rows use; after the last step's rows, all remaining ones.
    const int wide_end = opaque(!has_wide || careful ? -phase : left <= step ? left : step - phase);
    if (band_begin < band_end) read_band(row + band_begin);
    LanePlaces places{rows_kept, false};
    const std::byte* standing[standing_tensors];
    places(standing);
    Strip strip[strips];
    StripSum sums_of[strips][gradients];
#pragma unroll
    for (int b = 0; b < strips; ++b) {
      const int first = row + strip_tokens * b;
      const int from = min(first, rows - 1);
      strip[b].begin(
          max(left - strip_tokens * b, 1), call.signs, zero,
          [&](int tensor, int i) {
            return row_at(standing[tensor], from + i,
                          static_cast<int>(standing_of(tensor).token_stride));
          },
          [&](int i) { return lse_of(origin + from + i); },
          [&](int i, const RowNumbers& known) {
            if (t == 0 && first < rows) its_numbers[from + i] = known;
          });
    }
#pragma unroll 1
    for (int distance = band_begin; distance < band_end; distance += 16) {
      const int first = row + distance;
      Summed values;
      values.put(chunk);
      unsigned spoilt[gradients] = {};
      if (careful) {
#pragma unroll
        for (int i = 0; i < gradients; ++i) clean<T, 0, 2>(values.values[i], spoilt[i]);
      }
      if (distance >= -phase && distance < wide_end) {
        Strip wide;
        StripWeights<sums> weights;
        LanePlaces of_wide{wide_kept, false};
        wide.pass(of_wide);
        wide.template weigh<false>(
            weights, chunk, values, call.factor,
            [&](ChunkScores& s) {
              if (first < 0 || first + 16 > rows) cut_by_keys(s, first, 0, rows);
            },
            nothing);
#pragma unroll
        for (int i = 0; i < gradients; ++i) {
          StripSum sum;
          LanePlaces{of_wide.next, false}(sum);
          sum.add(weights[i], values.values[i]);
          of_wide.keeps = true;
          of_wide(sum);
        }
      }
      if (distance >= inner_begin && distance < inner_end) {
#pragma unroll
        for (int b = 0; b < strips; ++b) {
          StripWeights<sums> weights;
          strip[b].template weigh<false>(weights, chunk, values, call.factor, uncut, [&] {
            if (b + 1 == strips) read_scored(first + 16);
          });
          add(weights, values, sums_of[b]);
        }
        read_summed(first + 16);
      } else {
        const auto sees = [&](int b) {
          return left > strip_tokens * b &&
                 static_cast<unsigned>(distance + window + 15 - strip_tokens * b) <=
                     static_cast<unsigned>(2 * window + 30);
        };
#pragma unroll
        for (int b = 0; b < strips; ++b) {
          if (sees(b)) {
            const auto cut = [&](ChunkScores& s) {
              cut_by_window(s, distance - strip_tokens * b, window);
              if (!is_there(first)) cut_by_keys(s, first, keys_begin, keys_end);
            };
            StripWeights<sums> weights;
            if (!careful) {
              strip[b].template weigh<false>(weights, chunk, values, call.factor, cut, nothing);
            } else {
              strip[b].template weigh<true>(weights, chunk, values, call.factor, cut, nothing,
                                            spoilt);
            }
            add(weights, values, sums_of[b]);
          }
        }
        if (distance + 16 < band_end) read_band(first + 16);
      }
    }
    take_globals(strip, sums_of);
    std::byte* results[gradients];
    places(results);
    std::uint32_t trace = 0;
#pragma unroll
    for (int b = 0; b < strips; ++b) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int mine = row + strip_tokens * b + g + 8 * h;
#pragma unroll
        for (int i = 0; i < gradients; ++i) {
          std::byte* const to =
              row_at(results[i], mine, static_cast<int>(Of::gradient(call, i).token_stride));
          trace = store_share<T, Columns>(sums_of[b][i].of, scale_of(i), h, to, mine < rows, trace);
        }
      }
    }
    return __any_sync(all_lanes, trace != 0 ? 1 : 0) != 0;
  };
#pragma unroll 1
  for (int row = 0, again = 0; row < rows; row += again != 0 ? 0 : step)
    again = take_step(row, again != 0) && again == 0 ? 1 : 0;
  __syncwarp();
  if (!has_wide) return;
  LanePlaces places{wide_kept, false};
  Strip wide;
  wide.pass(places);
#pragma unroll
  for (int i = 0; i < gradients; ++i) {
    StripSum sum;
    places(sum);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = g + 8 * h;
      if (row >= walk.wide.count) continue;
      if (walk.first_slot >= 0) {
        sum.leave(h, partial_row(call, head, walk.first_slot + row) + i * Columns);
      } else {
        std::byte* to = HeadRows<std::byte>(Of::gradient(call, i), head)
                            .at(Place(call.items, walk.wide.begin + row));
        store_share<T, Columns>(sum.of, scale_of(i), h, to + output_begin<Columns>(), true);
      }
    }
  }
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
