// SPDX-License-Identifier: Apache-2.0
//
// The unfused steps. A warp has a unit of up to 16 tokens that stand still, for one head; what
// passes by comes 32 tokens at a time, one a lane. By units that much passes the warps of a block
// take these 32s in turn, and the first of them adds up what they have, in their order. Products of
// 16-bit numbers are the tensor cores', in tiles of 16 x 8 (ptx.h), others fused multiply-adds.

#include <cstring>
#include <type_traits>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/windowed/arguments.h"

namespace attnscope::cuda::windowed {
namespace {

constexpr int most_threads = 32 * warps_shared;
/// Of a result's row, that a warp sums: one a lane.
constexpr int columns_of_warp = 32;

/// A warp's unit, or its share of one.
struct WarpUnit {
  const Unit* unit = nullptr;  // nullptr: none is left
  int head = 0;
  int first_column = 0;  // of those that are summed
  int lane = static_cast<int>(threadIdx.x) % 32;
  int warp = static_cast<int>(threadIdx.x) / 32;
  int share = 0, shares = 1;

  __device__ WarpUnit(const Arguments& a, unsigned column_parts) {
    const unsigned heads = static_cast<unsigned>(a.heads_per_unit);
    const unsigned block = blockIdx.x / column_parts;
    first_column = static_cast<int>(blockIdx.x % column_parts) * columns_of_warp;
    int number = static_cast<int>(block / heads);
    if (a.shared) {
      share = warp;
      shares = warps_shared;
    } else {
      number = number * warps_alone + warp;
    }
    if (number >= a.unit_count) return;
    unit = a.units + number;
    head = unit->first_head + static_cast<int>(block % heads);
  }

  /// Whether the next 32 tokens, of which `number` is the count, are this warp's.
  __device__ bool takes(int& number) const { return (number++ & (shares - 1)) == share; }

  /// Until all that have the unit are here.
  __device__ void wait() const {
    if (shares > 1) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
};

/// The token that stands at a place of a run.
__device__ int token_in(const WorkRun& run, const DeviceLists& lists, int place) {
  return run.listed != 0 ? lists.indices[place] : place;
}

/// First place that the row of `token` sees. A row whose block lies outside the run gets places
/// before it or behind it, where no keys are.
__device__ int first_seen(const View& view, int token) {
  const int begin = view.keys.begin, end = begin + view.keys.count;
  if (view.kind == SegmentKind::whole) return begin;
  const int opposite = token + view.shift;
  if (view.kind == SegmentKind::band) return opposite;
  if (opposite < begin) return begin - view.width;
  if (opposite >= end) return end;
  return begin + (opposite - begin) / view.window * view.window;
}

/// Whether a row that sees places from `first` on sees this one.
__device__ bool sees(const View& view, int first, int place) {
  return static_cast<unsigned>(place) - static_cast<unsigned>(first) <
         static_cast<unsigned>(view.reach);
}

/// The column of a place in a row that sees places from `first` on.
__device__ int column_of(const View& view, int first, int place) {
  return place - (view.by_key != 0 ? view.keys.begin : first);
}

constexpr int nowhere = -1;

/// The token at a place, or nowhere if no row may see it.
__device__ int key_at(const View& view, const DeviceLists& lists, int place) {
  if (place < view.keys.begin || place >= view.keys.begin + view.keys.count) return nowhere;
  const int token = token_in(view.keys, lists, place);
  const WorkRun skipped{view.skip_begin, view.skip_end - view.skip_begin, 1};
  return is_listed(skipped, lists.indices, token) ? nowhere : token;
}

/// The place of a token, or nowhere if no row may see it.
__device__ int place_of(const View& view, const DeviceLists& lists, int token) {
  const int position = position_of(view.keys, lists.indices, token);
  const int place = view.keys.begin + position;
  return position < view.keys.count && key_at(view, lists, place) == token ? place : nowhere;
}

/// A head's first score of a view.
template <typename Score>
__device__ Score* scores_of(Score* scores, const View& view, int head) {
  return scores + view.first_score + (head - view.first_head) * view.head_stride;
}

/// Where a lane's numbers lie in the fragments of a tile (ptx.h).
__device__ int group_of_lane() {
  return static_cast<int>(threadIdx.x) % 32 / 4;
}
__device__ int pair_of_lane() {
  return static_cast<int>(threadIdx.x) % 4 * 2;
}

/// Four tiles side by side, as a column of 16 numbers a lane. `room`: floats_of_tiles floats of the
/// warp's.
__device__ void to_columns(float (&columns)[strip_tokens], const float (&tiles)[4][4],
                           float* room) {
  constexpr int stride = floats_of_tiles / strip_tokens;
  __syncwarp();  // all have done with what was there
#pragma unroll
  for (int n = 0; n < 4; ++n) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float* to = room + (group_of_lane() + 8 * h) * stride + 8 * n + pair_of_lane();
      *reinterpret_cast<float2*>(to) = float2{tiles[n][2 * h], tiles[n][2 * h + 1]};
    }
  }
  __syncwarp();
#pragma unroll
  for (int r = 0; r < strip_tokens; ++r) columns[r] = room[r * stride + threadIdx.x % 32];
}

/// s_r = x_r . y, in each lane its y; 0 where that is null. For the rows x held in shared memory.
__device__ void multiply(float (&s)[strip_tokens], const float* x, const std::byte* y,
                         const Arguments& a) {
#pragma unroll
  for (float& sum : s) sum = 0.0f;
  if (y == nullptr) return;
  const float* numbers = reinterpret_cast<const float*>(y);
  if (!a.vector) {
    for (int c = 0; c < a.head_dim; ++c) {
#pragma unroll
      for (int r = 0; r < strip_tokens; ++r) s[r] = fmaf(x[r * a.head_dim + c], numbers[c], s[r]);
    }
    return;
  }
  for (int c = 0; c < a.head_dim; c += 4) {
    const float4 of_y = *reinterpret_cast<const float4*>(numbers + c);
#pragma unroll
    for (int r = 0; r < strip_tokens; ++r) {
      const float4 of_x = *reinterpret_cast<const float4*>(x + r * a.head_dim + c);
      s[r] = fmaf(of_x.x, of_y.x, s[r]);
      s[r] = fmaf(of_x.y, of_y.y, s[r]);
      s[r] = fmaf(of_x.z, of_y.z, s[r]);
      s[r] = fmaf(of_x.w, of_y.w, s[r]);
    }
  }
}

/// Two neighbouring 16-bit numbers of a row, from an even column on; 0 behind its end.
__device__ std::uint32_t pair_at(const std::byte* row, int column, const Arguments& a) {
  if (row == nullptr || column >= a.head_dim) return 0;
  if (a.vector) return *reinterpret_cast<const std::uint32_t*>(row + column * 2);
  const auto* numbers = reinterpret_cast<const std::uint16_t*>(row) + column;
  return numbers[0] | (column + 1 < a.head_dim ? std::uint32_t{numbers[1]} << 16 : 0u);
}

/// The same by the tensor cores; `x`: the rows g and g + 8 of lane 4 g + t.
template <typename T>
__device__ void multiply(float (&s)[strip_tokens], const std::byte* const (&x)[2],
                         const std::byte* y, float* room, const Arguments& a) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  auto* const rows = reinterpret_cast<const std::byte**>(room);
  __syncwarp();  // all have done with what was there
  rows[lane] = y;
  __syncwarp();
  const std::byte* of_tile[4];
#pragma unroll
  for (int n = 0; n < 4; ++n) of_tile[n] = rows[8 * n + group_of_lane()];
  float tiles[4][4] = {};
  for (int c = pair_of_lane(); c < a.head_dim + pair_of_lane(); c += 16) {
    std::uint32_t of_x[4], of_y[4][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      of_x[i] = pair_at(x[i % 2], c + i / 2 * 8, a);
      of_y[i][0] = pair_at(of_tile[i], c, a);
      of_y[i][1] = pair_at(of_tile[i], c + 8, a);
    }
    __syncwarp();  // lanes may have read apart; products are for converged warps
#pragma unroll
    for (int n = 0; n < 4; ++n) multiply_add<T>(tiles[n], of_x, of_y[n][0], of_y[n][1]);
  }
  to_columns(s, tiles, room);
}

template <typename T>
__global__ void __launch_bounds__(most_threads, 1) windowed_scores_kernel(Arguments a) {
  const WarpUnit mine(a, 1);
  if (mine.unit == nullptr) return;
  const Unit& unit = *mine.unit;
  const HeadRows<const std::byte> rows(a.x, mine.head), keys(a.y, mine.head);
  // Rows that are not there are like the last one.
  const auto row_of = [&](int r) {
    return token_of(unit.tokens, a.lists.indices, min(r, unit.tokens.count - 1));
  };
  const auto at_row = [&](int r) { return rows.at(Place(a.items, row_of(r))); };
  float* room = reinterpret_cast<float*>(dynamic_shared());
  const std::byte* const x[2] = {at_row(group_of_lane()), at_row(group_of_lane() + 8)};
  if constexpr (std::is_same_v<T, float>) {
    if (!a.shared) room += mine.warp * strip_tokens * a.head_dim;
    for (int r = mine.share; r < strip_tokens; r += mine.shares)
      hold<T>(room + r * a.head_dim, at_row(r), a.head_dim);
    mine.wait();
  } else {
    room += mine.warp * floats_of_tiles;
  }
  int chunks = 0;
  for (int p = unit.first_part; p < unit.first_part + unit.parts; ++p) {
    const View view = a.lists.views[a.lists.parts[p].view];
    const int first_of_row = first_seen(view, row_of(mine.lane % strip_tokens));
    const auto first_of = [&](int r) { return __shfl_sync(all_lanes, first_of_row, r); };
    // From the place of column 0 in the first row to behind that of the last column in the last.
    const int begin = -column_of(view, first_of(0), 0);
    const int end = view.width - column_of(view, first_of(strip_tokens - 1), 0);
    float* scores = scores_of(a.scores, view, mine.head) +
                    std::int64_t{unit.tokens.begin - view.rows.begin} * view.columns;
    for (int chunk = begin; chunk < end; chunk += 32) {
      if (!mine.takes(chunks)) continue;
      const int place = chunk + mine.lane;
      const int key = key_at(view, a.lists, place);
      const std::byte* y = key == nowhere ? nullptr : keys.at(Place(a.items, key));
      float s[strip_tokens];
      if constexpr (std::is_same_v<T, float>) {
        multiply(s, room, y, a);
      } else {
        multiply<T>(s, x, y, room, a);
      }
#pragma unroll
      for (int r = 0; r < strip_tokens; ++r) {
        const int first = first_of(r), column = column_of(view, first, place);
        if (r >= unit.tokens.count || column < 0 || column >= view.width) continue;
        scores[std::int64_t{r} * view.columns + column] =
            key != nowhere && sees(view, first, place) ? a.scale * s[r] : a.outside;
      }
    }
  }
}

/// A warp's rows of scores, one after the other: visit(row of the unit, its first score, columns).
template <typename Visit>
__device__ void for_each_row(const Arguments& a, const WarpUnit& mine, const Visit& visit) {
  if (mine.unit == nullptr) return;
  const Unit& unit = *mine.unit;
  std::int64_t first = 0;
  int columns = 0;
  if (unit.parts > 0) {
    const View view = a.lists.views[a.lists.parts[unit.first_part].view];
    columns = view.columns;
    first = view.first_score + (mine.head - view.first_head) * view.head_stride +
            std::int64_t{unit.tokens.begin - view.rows.begin} * columns;
  }
  for (int r = mine.share; r < unit.tokens.count; r += mine.shares)
    visit(r, first + std::int64_t{r} * columns, columns);
}

__global__ void __launch_bounds__(most_threads, 1) windowed_softmax_kernel(Arguments a) {
  const WarpUnit mine(a, 1);
  for_each_row(a, mine, [&](int r, std::int64_t first, int columns) {
    float* scores = a.scores + first;
    float maximum = minus_infinity, sum = 0.0f;
    for (int c = mine.lane; c < columns; c += 32) maximum = fmaxf(maximum, scores[c]);
    maximum = largest_of_lanes(maximum);
    const float base = maximum == minus_infinity ? 0.0f : maximum;
    for (int c = mine.lane; c < columns; c += 32) sum += exp2_approx(scores[c] - base);
    sum = sum_of_lanes(sum);
    const float inverse = inverse_of(sum);
    for (int c = mine.lane; c < columns; c += 32)
      scores[c] = exp2_approx(scores[c] - base) * inverse;
    if (a.lse == nullptr || mine.lane != 0) return;
    const int token = token_of(mine.unit->tokens, a.lists.indices, r);
    a.lse[std::int64_t{token} * a.heads + mine.head] = log_sum_exp(maximum, sum);
  });
}

__global__ void __launch_bounds__(most_threads, 1) windowed_score_gradients_kernel(Arguments a) {
  const WarpUnit mine(a, 1);
  for_each_row(a, mine, [&](int, std::int64_t first, int columns) {
    const float* weights = a.weights + first;
    float* gradients = a.scores + first;
    float mean = 0.0f;
    for (int c = mine.lane; c < columns; c += 32) mean = fmaf(weights[c], gradients[c], mean);
    mean = sum_of_lanes(mean);
    for (int c = mine.lane; c < columns; c += 32) gradients[c] = weights[c] * (gradients[c] - mean);
  });
}

/// The bits of all lanes, in all lanes.
__device__ unsigned or_of_lanes(unsigned bits) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    bits |= __shfl_xor_sync(all_lanes, bits, distance);
  return bits;
}

/// Whether T cannot hold this finite number. (bfloat16 holds what float32 does.)
template <typename T>
__device__ bool is_wild(float number) {
  constexpr float largest = 65504.0f;
  return std::is_same_v<T, __half> && fabsf(number) > largest && fabsf(number) < -minus_infinity;
}

/// sums_s += weights of s times what has passed, in each lane its column: pair by pair, so that
/// what a token does not see is left out.
template <typename T>
__device__ void add_pairs(float (&sums)[strip_tokens], const Passing* passed, int count, int column,
                          int columns) {
  float latest[strip_tokens] = {};
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
    const Passing one = passed[k];
    float number = 0.0f;
    if (one.seen != 0 && column < columns)
      number = to_float(reinterpret_cast<const T*>(one.row)[column]);
#pragma unroll
    for (int s = 0; s < strip_tokens; ++s)
      if ((one.seen >> s & 1u) != 0) latest[s] = fmaf(one.weights[s], number, latest[s]);
  }
#pragma unroll
  for (int s = 0; s < strip_tokens; ++s) sums[s] += latest[s];
}

/// The same of all 32 by the tensor cores, where a weight is the sum of two 16-bit numbers, so that
/// it keeps more of its float32 than one would hold. Where a sum is not finite they are made again
/// of the finite numbers alone, and what sees one of the others becomes NaN: all else has the same
/// bits as if all were finite.
template <typename T>
__device__ void add_tiles(float (&sums)[strip_tokens], Passing* passed, int first_column,
                          int columns) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = group_of_lane(), t = pair_of_lane();
  float tiles[4][4];
  unsigned odd = 0;  // tokens with numbers that are not finite
  const auto make = [&](bool finite_alone) {
    memset(tiles, 0, sizeof tiles);
#pragma unroll
    for (int k = t; k < 32 + t; k += 16) {
      const Passing* const of[4] = {passed + k, passed + k + 1, passed + k + 8, passed + k + 9};
      std::uint32_t whole[4], rest[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float low = of[i / 2 * 2]->weights[g + i % 2 * 8];
        const float high = of[i / 2 * 2 + 1]->weights[g + i % 2 * 8];
        whole[i] = pair_of<T>(low, high);
        rest[i] =
            pair_of<T>(low - to_float(from_float<T>(low)), high - to_float(from_float<T>(high)));
      }
      std::uint32_t pairs[4][2];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int column = first_column + i / 2 * 8 + g, h = i % 2;
        const auto number = [&](const Passing* one) -> std::uint32_t {
          if (one->seen == 0 || column >= columns) return 0;
          return reinterpret_cast<const std::uint16_t*>(one->row)[column];
        };
        std::uint32_t& pair = pairs[i / 2][h];
        pair = number(of[2 * h]) | number(of[2 * h + 1]) << 16;
        if (!finite_alone) continue;
        const std::uint32_t mask = non_finite_halves<T>(pair);
        pair &= ~mask;
        odd |= (mask & 1u) << (k + 8 * h) | (mask >> 31) << (k + 8 * h + 1);
      }
      __syncwarp();  // lanes may have read apart; products are for converged warps
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        multiply_add<T>(tiles[n], whole, pairs[n][0], pairs[n][1]);
        multiply_add<T>(tiles[n], rest, pairs[n][0], pairs[n][1]);
      }
    }
  };
  make(false);
  float check = 0.0f;  // a product of 0 and a number is 0, of 0 and infinity or NaN is NaN
#pragma unroll
  for (int i = 0; i < 16; ++i) check = fmaf(0.0f, tiles[i / 4][i % 4], check);
  unsigned spoilt = 0;
  if (__any_sync(all_lanes, check == 0.0f ? 0 : 1) != 0) {
    make(true);
    odd = or_of_lanes(odd);
    spoilt = or_of_lanes((odd >> lane & 1u) != 0 ? passed[lane].seen : 0u);
  }
  float latest[strip_tokens];
  to_columns(latest, tiles, reinterpret_cast<float*>(passed));
#pragma unroll
  for (int s = 0; s < strip_tokens; ++s)
    sums[s] += (spoilt >> s & 1u) != 0 ? minus_infinity - minus_infinity : latest[s];
}

/// Rows that stand still, or keys (`of_keys`).
template <typename T, bool of_keys>
__global__ void __launch_bounds__(most_threads, 1) windowed_sums_kernel(Arguments a) {
  const WarpUnit mine(a, static_cast<unsigned>(a.head_dim + columns_of_warp - 1) / columns_of_warp);
  if (mine.unit == nullptr) return;
  const Unit& unit = *mine.unit;
  const HeadRows<const std::byte> rows(a.y, mine.head);
  const int column = mine.first_column + mine.lane;
  Passing* const passed = reinterpret_cast<Passing*>(dynamic_shared()) + mine.warp * 32;
  float sums[strip_tokens] = {};
  int chunks = 0;
  for (int p = unit.first_part; p < unit.first_part + unit.parts; ++p) {
    const Part part = a.lists.parts[p];
    const View view = a.lists.views[part.view];
    const float* weights = scores_of(a.weights, view, mine.head);
    // Of the token that stands still in this lane: the first place that it sees, or its own.
    int standing = 0;
    bool stands = mine.lane < unit.tokens.count;
    if (stands) {
      const int token = token_of(unit.tokens, a.lists.indices, mine.lane);
      standing = of_keys ? place_of(view, a.lists, token) : first_seen(view, token);
      stands = !of_keys || standing != nowhere;
    }
    const unsigned standing_lanes = __ballot_sync(all_lanes, stands ? 1 : 0);
    for (int chunk = part.begin; chunk < part.end; chunk += 32) {
      if (!mine.takes(chunks)) continue;
      const int at = chunk + mine.lane;
      int token = nowhere;
      if (at < part.end) {
        token = of_keys ? token_in(view.rows, a.lists, at) : key_at(view, a.lists, at);
      }
      const bool passes = token != nowhere;
      const int first_of_row = of_keys && passes ? first_seen(view, token) : 0;
      Passing passing{};
      if (passes) passing.row = rows.at(Place(a.items, token));
      const float* row =
          weights +
          std::int64_t{(of_keys ? at : unit.tokens.begin) - view.rows.begin} * view.columns;
      bool wild = false;
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) {
        const int other = __shfl_sync(all_lanes, standing, s);
        const int first = of_keys ? first_of_row : other, place = of_keys ? other : at;
        const bool counts = passes && (standing_lanes >> s & 1u) != 0 && sees(view, first, place);
        passing.weights[s] = counts ? row[column_of(view, first, place)] : 0.0f;
        passing.seen |= counts ? 1u << s : 0u;
        wild = wild || is_wild<T>(passing.weights[s]);
        if (!of_keys) row += view.columns;
      }
      __syncwarp();  // all have done with the 32 before
      passed[mine.lane] = passing;
      __syncwarp();
      if constexpr (!std::is_same_v<T, float>) {
        if (__any_sync(all_lanes, wild ? 1 : 0) == 0) {
          add_tiles<T>(sums, passed, mine.first_column, a.head_dim);
          continue;
        }
      }
      add_pairs<T>(sums, passed, min(32, part.end - chunk), column, a.head_dim);
    }
  }
  if (a.shared) {
    float* const room = reinterpret_cast<float*>(dynamic_shared()) + mine.lane;
    __syncthreads();  // all have done with what passed by
#pragma unroll
    for (int s = 0; s < strip_tokens; ++s) room[(mine.warp * strip_tokens + s) * 32] = sums[s];
    __syncthreads();
    if (mine.share > 0) return;
    for (int share = 1; share < mine.shares; ++share) {
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) sums[s] += room[(share * strip_tokens + s) * 32];
    }
  }
  const HeadRows<std::byte> out(a.out, mine.head);
#pragma unroll
  for (int s = 0; s < strip_tokens; ++s) {
    if (s >= unit.tokens.count || column >= a.head_dim) break;
    std::byte* row = out.at(Place(a.items, token_of(unit.tokens, a.lists.indices, s)));
    reinterpret_cast<T*>(row)[column] = from_float<T>(a.scale * sums[s]);
  }
}

/// Blocks for units and heads.
LaunchShape shape_of(const Arguments& a, std::int64_t column_parts, std::int64_t shared_bytes) {
  const int units_of_block = a.shared ? 1 : warps_alone;
  return {(a.unit_count + units_of_block - 1) / units_of_block * std::int64_t{a.heads_per_unit} *
              column_parts,
          32 * (a.shared ? warps_shared : warps_alone), shared_bytes};
}

LaunchShape shape_of_sums(const Arguments& a) {
  return shape_of(a, (a.head_dim + columns_of_warp - 1) / columns_of_warp,
                  shared_of_sums(a.shared));
}

}  // namespace

Status launch_step(Step step, DType dtype, const Arguments& a, Stream stream) {
  return with_type(dtype, [&](auto type) -> Status {
    using T = typename NumberOf<type()>::T;
    switch (step) {
      case Step::scores:
        return launch("windowed scores", windowed_scores_kernel<T>,
                      shape_of(a, 1, shared_of_scores(dtype, a.head_dim, a.shared)), stream, a);
      case Step::softmax:
        return launch("windowed softmax", windowed_softmax_kernel, shape_of(a, 1, 0), stream, a);
      case Step::score_gradients:
        return launch("windowed score gradients", windowed_score_gradients_kernel,
                      shape_of(a, 1, 0), stream, a);
      case Step::values:
        return launch("windowed values", windowed_sums_kernel<T, false>, shape_of_sums(a), stream,
                      a);
      case Step::keys:
        break;
    }
    return launch("windowed keys", windowed_sums_kernel<T, true>, shape_of_sums(a), stream, a);
  });
}

}  // namespace attnscope::cuda::windowed
