// SPDX-License-Identifier: Apache-2.0
//
// The unfused steps. A warp has a unit of up to 16 tokens that stand still, for one head; what
// passes by comes 32 tokens at a time, one a lane. By units that much passes the warps of a block
// take these 32s in turn, and the first of them adds up what they have, in their order. What a
// token does not see is left out of its sums, so that numbers that are not finite need no care.

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
  const int at = position_of(skipped, lists.indices, token);
  return at < skipped.count && lists.indices[skipped.begin + at] == token ? nowhere : token;
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

/// s_r += x_r . y for 16 rows x, held as float32 one behind the other.
template <typename T>
__device__ void add_products(float (&s)[strip_tokens], const float* x, const std::byte* y,
                             const Arguments& a) {
  if (!a.vector) {
    for (int c = 0; c < a.head_dim; ++c) {
      const float number = to_float(reinterpret_cast<const T*>(y)[c]);
#pragma unroll
      for (int r = 0; r < strip_tokens; ++r) s[r] = fmaf(x[r * a.head_dim + c], number, s[r]);
    }
    return;
  }
  constexpr int numbers = 16 / static_cast<int>(sizeof(T));
  for (int c = 0; c < a.head_dim; c += numbers) {
    const Piece<T> piece(y + c * sizeof(T));
#pragma unroll
    for (int r = 0; r < strip_tokens; ++r) {
#pragma unroll
      for (int i = 0; i < numbers; i += 4) {
        const auto four = *reinterpret_cast<const float4*>(x + r * a.head_dim + c + i);
        s[r] = fmaf(four.x, to_float(piece.at[i]), s[r]);
        s[r] = fmaf(four.y, to_float(piece.at[i + 1]), s[r]);
        s[r] = fmaf(four.z, to_float(piece.at[i + 2]), s[r]);
        s[r] = fmaf(four.w, to_float(piece.at[i + 3]), s[r]);
      }
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(most_threads, 1) windowed_scores_kernel(Arguments a) {
  const WarpUnit mine(a, 1);
  if (mine.unit == nullptr) return;
  const Unit& unit = *mine.unit;
  const HeadRows<const std::byte> rows(a.x, mine.head), keys(a.y, mine.head);
  float* x = reinterpret_cast<float*>(dynamic_shared());
  if (!a.shared) x += mine.warp * strip_tokens * a.head_dim;
  // Rows that are not there are like the last one.
  const auto token_of_row = [&](int r) {
    return token_of(unit.tokens, a.lists.indices, min(r, unit.tokens.count - 1));
  };
  for (int r = mine.share; r < strip_tokens; r += mine.shares) {
    hold<T>(x + r * a.head_dim, rows.at(Place(a.items, token_of_row(r))), a.head_dim);
  }
  mine.wait();
  int chunks = 0;
  for (int p = unit.first_part; p < unit.first_part + unit.parts; ++p) {
    const View view = a.lists.views[a.lists.parts[p].view];
    const int first_of_row = first_seen(view, token_of_row(mine.lane % strip_tokens));
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
      float s[strip_tokens] = {};
      if (key != nowhere) add_products<T>(s, x, keys.at(Place(a.items, key)), a);
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
      const float* row = weights + std::int64_t{of_keys ? at - view.rows.begin
                                                        : unit.tokens.begin - view.rows.begin} *
                                       view.columns;
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) {
        const int other = __shfl_sync(all_lanes, standing, s);
        const int first = of_keys ? first_of_row : other, place = of_keys ? other : at;
        const bool counts = passes && (standing_lanes >> s & 1u) != 0 && sees(view, first, place);
        passing.weights[s] = counts ? row[column_of(view, first, place)] : 0.0f;
        passing.seen |= counts ? 1u << s : 0u;
        if (!of_keys) row += view.columns;
      }
      __syncwarp();  // all have done with the 32 before
      passed[mine.lane] = passing;
      __syncwarp();
      float latest[strip_tokens] = {};
      const int count = min(32, part.end - chunk);
#pragma unroll 4
      for (int k = 0; k < count; ++k) {
        const Passing one = passed[k];
        float number = 0.0f;
        if (one.seen != 0 && column < a.head_dim)
          number = to_float(reinterpret_cast<const T*>(one.row)[column]);
#pragma unroll
        for (int s = 0; s < strip_tokens; ++s)
          if ((one.seen >> s & 1u) != 0) latest[s] = fmaf(one.weights[s], number, latest[s]);
      }
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) sums[s] += latest[s];
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
                  shared_of_sums * (a.shared ? warps_shared : warps_alone));
}

}  // namespace

Status launch_step(Step step, DType dtype, const Arguments& a, Stream stream) {
  return with_type(dtype, [&](auto type) -> Status {
    using T = typename NumberOf<type()>::T;
    switch (step) {
      case Step::scores:
        return launch("windowed scores", windowed_scores_kernel<T>,
                      shape_of(a, 1, shared_of_scores(a.head_dim) * (a.shared ? 1 : warps_alone)),
                      stream, a);
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
