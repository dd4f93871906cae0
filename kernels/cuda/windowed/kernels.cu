// SPDX-License-Identifier: Apache-2.0
//
// The unfused steps, of fused multiply-adds in float32. A block has a unit of up to 16 tokens that
// stand still, for one head; what passes by comes 32 tokens at a time, one a lane. Its warps take
// these 32s in turn; where they sum, what they have is added up in their order.

#include "kernels/cuda/launch.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/windowed/arguments.h"

namespace attnscope::cuda::windowed {
namespace {

constexpr int most_threads = 32 * many_warps;
/// Of a result's row, that a block sums: one a lane.
constexpr int columns_of_block = 32;

/// A block's unit, as one of its threads sees it.
struct BlockUnit {
  Unit unit;
  int head;
  int first_column;  // of those that are summed
  int lane = static_cast<int>(threadIdx.x) % 32;
  int warp = static_cast<int>(threadIdx.x) / 32;
  int warps = static_cast<int>(blockDim.x) / 32;

  __device__ explicit BlockUnit(const Arguments& a, unsigned column_parts = 1)
      : unit(a.units[blockIdx.x / column_parts / static_cast<unsigned>(a.heads_per_unit)]),
        head(unit.first_head +
             static_cast<int>(blockIdx.x / column_parts % static_cast<unsigned>(a.heads_per_unit))),
        first_column(static_cast<int>(blockIdx.x % column_parts) * columns_of_block) {}

  /// Whether the next 32 tokens, of which `number` is the count, are this warp's.
  __device__ bool takes(int& number) const { return (number++ & (warps - 1)) == warp; }
};

/// First place that the row of `token` sees. A row whose block lies outside the run gets places
/// before it or behind it, where no keys are.
__device__ int first_seen(const View& view, int token) {
  const int begin = view.keys.begin, end = begin + view.keys.count;
  if (view.kind == SegmentKind::whole) return begin;
  const int opposite = token + view.shift;
  if (view.kind == SegmentKind::band) return opposite;
  if (opposite < begin) return begin - view.width;
  if (opposite >= end) return end;
  return begin + (opposite - begin) / view.width * view.width;
}

/// Whether a row that sees places from `first` on sees this one.
__device__ bool sees(const View& view, int first, int place) {
  return static_cast<unsigned>(place) - static_cast<unsigned>(first) <
         static_cast<unsigned>(view.reach);
}

/// The place of column 0 in a row that sees places from `first` on.
__device__ int column_0(const View& view, int first) {
  return view.by_key ? view.keys.begin : first;
}

constexpr int nowhere = -1;

/// The token at a place, or nowhere if no row may see it.
__device__ int key_at(const View& view, const DeviceLists& lists, int place) {
  if (place < view.keys.begin || place >= view.keys.begin + view.keys.count) return nowhere;
  const int token = token_of(view.keys, lists.indices, place - view.keys.begin);
  return is_listed(view.skipped, lists.indices, token) ? nowhere : token;
}

/// The place of a token, or nowhere if no row may see it.
__device__ int place_of(const View& view, const DeviceLists& lists, int token) {
  const int place = view.keys.begin + position_of(view.keys, lists.indices, token);
  return key_at(view, lists, place) == token ? place : nowhere;
}

/// The place of the first row that sees nothing before `least`.
__device__ int first_row(const View& view, const DeviceLists& lists, int least) {
  int low = 0, high = view.rows.count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (first_seen(view, token_of(view.rows, lists.indices, middle)) < least) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return view.rows.begin + low;
}

/// Places [begin, end).
struct Places {
  int begin, end;
};

/// What passes by tokens that stand still: by rows the keys that any of them sees, by keys the rows
/// that see any of them; between them may be others.
template <bool of_keys>
__device__ Places passing_by(const WorkRun& tokens, const View& view, const DeviceLists& lists) {
  const int first = token_of(tokens, lists.indices, 0);
  const int last = token_of(tokens, lists.indices, tokens.count - 1);
  const int begin = view.keys.begin;
  if constexpr (!of_keys) {
    return {max(begin, first_seen(view, first)),
            min(begin + view.keys.count, first_seen(view, last) + view.reach)};
  }
  const int low = begin + position_of(view.keys, lists.indices, first);
  const int high = begin + position_of(view.keys, lists.indices, last + 1);
  return {first_row(view, lists, low - view.reach + 1), first_row(view, lists, high)};
}

/// Where the scores of a view's row begin, which stands at this place.
__device__ std::int64_t first_score(const View& view, int head, int row) {
  return view.first_score + (head - view.first_head) * view.head_stride +
         (row - view.rows.begin) * view.columns;
}

/// s_r = x_r . y for rows x of float32, a number of each behind the other.
template <typename T>
__device__ void multiply(float (&s)[strip_tokens], const float* x, const std::byte* y,
                         const Arguments& a) {
  const auto add = [&](int c, float number) {
#pragma unroll
    for (int r = 0; r < strip_tokens; ++r) s[r] = fmaf(x[c * strip_tokens + r], number, s[r]);
  };
  if (!a.vector) {
    for (int c = 0; c < a.head_dim; ++c) add(c, to_float(reinterpret_cast<const T*>(y)[c]));
    return;
  }
  constexpr int numbers = 16 / static_cast<int>(sizeof(T));
  for (int c = 0; c < a.head_dim; c += numbers) {
    const Piece<T> piece(y + c * sizeof(T));
#pragma unroll
    for (int i = 0; i < numbers; ++i) add(c + i, to_float(piece.at[i]));
  }
}

template <typename T>
__global__ void __launch_bounds__(most_threads, 1) windowed_scores_kernel(Arguments a) {
  const BlockUnit mine(a);
  const Unit& unit = mine.unit;
  const HeadRows<const std::byte> rows(a.x, mine.head), keys(a.y, mine.head);
  // Rows that are not there are like the last one.
  const auto row_of = [&](int r) {
    return token_of(unit.tokens, a.lists.indices, min(r, unit.tokens.count - 1));
  };
  float* const x = reinterpret_cast<float*>(dynamic_shared());
  for (int i = static_cast<int>(threadIdx.x); i < strip_tokens * a.head_dim; i += 32 * mine.warps) {
    const std::byte* row = rows.at(Place(a.items, row_of(i % strip_tokens)));
    x[i] = to_float(reinterpret_cast<const T*>(row)[i / strip_tokens]);
  }
  __syncthreads();
  int chunks = 0;
  for (int v = unit.first_view; v < unit.first_view + unit.views; ++v) {
    const View view = a.lists.views[v];
    const int first_of_row = first_seen(view, row_of(mine.lane % strip_tokens));
    const int origin_of_row = column_0(view, first_of_row);
    const int end = __shfl_sync(all_lanes, origin_of_row, strip_tokens - 1) + view.width;
    for (int chunk = __shfl_sync(all_lanes, origin_of_row, 0); chunk < end; chunk += 32) {
      if (!mine.takes(chunks)) continue;
      const int place = chunk + mine.lane;
      const int key = key_at(view, a.lists, place);
      float s[strip_tokens] = {};
      if (key != nowhere) multiply<T>(s, x, keys.at(Place(a.items, key)), a);
      float* scores = a.scores + first_score(view, mine.head, unit.tokens.begin);
#pragma unroll
      for (int r = 0; r < strip_tokens; ++r, scores += view.columns) {
        const int first = __shfl_sync(all_lanes, first_of_row, r);
        const int column = place - __shfl_sync(all_lanes, origin_of_row, r);
        if (r >= unit.tokens.count || column < 0 || column >= view.width) continue;
        scores[column] = key != nowhere && sees(view, first, place) ? a.scale * s[r] : a.outside;
      }
    }
  }
}

/// A warp's rows of scores, one after the other: visit(row of the unit, its first score, columns).
template <typename Visit>
__device__ void for_each_row(const Arguments& a, const BlockUnit& mine, const Visit& visit) {
  const WorkRun& rows = mine.unit.tokens;
  const View view = mine.unit.views > 0 ? a.lists.views[mine.unit.first_view] : View{};
  for (int r = mine.warp; r < rows.count; r += mine.warps)
    visit(r, first_score(view, mine.head, rows.begin + r), view.columns);
}

__global__ void __launch_bounds__(most_threads, 1) windowed_softmax_kernel(Arguments a) {
  const BlockUnit mine(a);
  for_each_row(a, mine, [&](int r, std::int64_t first, std::int64_t columns) {
    float* scores = a.scores + first;
    float maximum = minus_infinity, sum = 0.0f;
    for (std::int64_t c = mine.lane; c < columns; c += 32) maximum = fmaxf(maximum, scores[c]);
    maximum = largest_of_lanes(maximum);
    const float base = maximum == minus_infinity ? 0.0f : maximum;
    for (std::int64_t c = mine.lane; c < columns; c += 32) sum += exp2_approx(scores[c] - base);
    sum = sum_of_lanes(sum);
    const float inverse = inverse_of(sum);
    for (std::int64_t c = mine.lane; c < columns; c += 32)
      scores[c] = exp2_approx(scores[c] - base) * inverse;
    if (a.lse == nullptr || mine.lane != 0) return;
    const int token = token_of(mine.unit.tokens, a.lists.indices, r);
    a.lse[std::int64_t{token} * a.heads + mine.head] = log_sum_exp(maximum, sum);
  });
}

__global__ void __launch_bounds__(most_threads, 1) windowed_score_gradients_kernel(Arguments a) {
  const BlockUnit mine(a);
  for_each_row(a, mine, [&](int, std::int64_t first, std::int64_t columns) {
    const float* weights = a.weights + first;
    float* gradients = a.scores + first;
    float mean = 0.0f;
    for (std::int64_t c = mine.lane; c < columns; c += 32)
      mean = fmaf(weights[c], gradients[c], mean);
    mean = sum_of_lanes(mean);
    for (std::int64_t c = mine.lane; c < columns; c += 32)
      gradients[c] = weights[c] * (gradients[c] - mean);
  });
}

/// sums_s += weights of s times what has passed, in each lane its column: pair by pair, so that
/// what a token does not see is left out, whatever it holds.
template <typename T>
__device__ void add_pairs(float (&sums)[strip_tokens], const Passing* passed, int count, int column,
                          int columns) {
  constexpr unsigned all = (1u << strip_tokens) - 1;
  float latest[strip_tokens] = {};
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
    const Passing one = passed[k];
    float number = 0.0f;
    if (one.seen != 0 && column < columns)
      number = to_float(reinterpret_cast<const T*>(one.row)[column]);
    if (one.seen == all) {
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) latest[s] = fmaf(one.weights[s], number, latest[s]);
      continue;
    }
#pragma unroll
    for (int s = 0; s < strip_tokens; ++s)
      if ((one.seen >> s & 1u) != 0) latest[s] = fmaf(one.weights[s], number, latest[s]);
  }
#pragma unroll
  for (int s = 0; s < strip_tokens; ++s) sums[s] += latest[s];
}

/// Rows that stand still, or keys (`of_keys`).
template <typename T, bool of_keys>
__global__ void __launch_bounds__(most_threads, 1) windowed_sums_kernel(Arguments a) {
  const BlockUnit mine(a,
                       static_cast<unsigned>(a.head_dim + columns_of_block - 1) / columns_of_block);
  const WorkRun& tokens = mine.unit.tokens;
  const HeadRows<const std::byte> rows(a.y, mine.head);
  const int column = mine.first_column + mine.lane;
  Passing* const passed = reinterpret_cast<Passing*>(dynamic_shared()) + mine.warp * 32;
  float sums[strip_tokens] = {};
  int chunks = 0;
  for (int v = mine.unit.first_view; v < mine.unit.first_view + mine.unit.views; ++v) {
    const View view = a.lists.views[of_keys ? a.lists.seeing[v] : v];
    // Of the token that stands still in this lane: the first place that it sees, or its own.
    int standing = 0;
    bool stands = mine.lane < tokens.count;
    if (stands) {
      const int token = token_of(tokens, a.lists.indices, mine.lane);
      standing = of_keys ? place_of(view, a.lists, token) : first_seen(view, token);
      stands = !of_keys || standing != nowhere;
    }
    const unsigned standing_lanes = __ballot_sync(all_lanes, stands ? 1 : 0);
    const Places passing_by_all = passing_by<of_keys>(tokens, view, a.lists);
    for (int chunk = passing_by_all.begin; chunk < passing_by_all.end; chunk += 32) {
      if (!mine.takes(chunks)) continue;
      const int at = chunk + mine.lane;
      int token = nowhere;
      if (at < passing_by_all.end) {
        token = of_keys ? token_of(view.rows, a.lists.indices, at - view.rows.begin)
                        : key_at(view, a.lists, at);
      }
      const bool passes = token != nowhere;
      const int first_of_row = of_keys && passes ? first_seen(view, token) : 0;
      Passing passing{};
      if (passes) passing.row = rows.at(Place(a.items, token));
      const float* row = a.weights + first_score(view, mine.head, of_keys ? at : tokens.begin);
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) {
        const int other = __shfl_sync(all_lanes, standing, s);
        const int first = of_keys ? first_of_row : other, place = of_keys ? other : at;
        const bool counts = passes && (standing_lanes >> s & 1u) != 0 && sees(view, first, place);
        passing.weights[s] = counts ? row[place - column_0(view, first)] : 0.0f;
        passing.seen |= counts ? 1u << s : 0u;
        if (!of_keys) row += view.columns;
      }
      __syncwarp();  // all have done with the 32 before
      passed[mine.lane] = passing;
      __syncwarp();
      add_pairs<T>(sums, passed, min(32, passing_by_all.end - chunk), column, a.head_dim);
    }
  }
  float* const room = reinterpret_cast<float*>(dynamic_shared()) + mine.lane;
  __syncthreads();  // all have done with what passed by
#pragma unroll
  for (int s = 0; s < strip_tokens; ++s) room[(mine.warp * strip_tokens + s) * 32] = sums[s];
  __syncthreads();
  const HeadRows<std::byte> out(a.out, mine.head);
  for (int s = mine.warp; s < tokens.count && column < a.head_dim; s += mine.warps) {
    float sum = 0.0f;
    for (int warp = 0; warp < mine.warps; ++warp) sum += room[(warp * strip_tokens + s) * 32];
    std::byte* row = out.at(Place(a.items, token_of(tokens, a.lists.indices, s)));
    reinterpret_cast<T*>(row)[column] = from_float<T>(a.scale * sum);
  }
}

}  // namespace

Status launch_step(Step step, DType dtype, const Arguments& a, std::int64_t units, int warps,
                   Stream stream) {
  const std::int64_t blocks = units * a.heads_per_unit;
  const LaunchShape rows{blocks, 32 * warps, 0};
  const LaunchShape scores{blocks, 32 * warps, shared_of_scores(a.head_dim)};
  const LaunchShape sums{blocks * ((a.head_dim + columns_of_block - 1) / columns_of_block),
                         32 * warps, shared_of_sums(warps)};
  return with_type(dtype, [&](auto type) -> Status {
    using T = typename NumberOf<type()>::T;
    switch (step) {
      case Step::scores:
        return launch("windowed scores", windowed_scores_kernel<T>, scores, stream, a);
      case Step::softmax:
        return launch("windowed softmax", windowed_softmax_kernel, rows, stream, a);
      case Step::score_gradients:
        return launch("windowed score gradients", windowed_score_gradients_kernel, rows, stream, a);
      case Step::values:
        return launch("windowed values", windowed_sums_kernel<T, false>, sums, stream, a);
      case Step::keys:
        break;
    }
    return launch("windowed keys", windowed_sums_kernel<T, true>, sums, stream, a);
  });
}

}  // namespace attnscope::cuda::windowed
