// SPDX-License-Identifier: Apache-2.0
//
// The unfused steps (docs/cuda-kernels.md) and the calls that queue them. Products of 16-bit
// numbers use tensor cores, all others float32.

#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/windowed.h"
#include "kernels/cuda/windowed/arguments.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {
namespace windowed {
namespace {

constexpr int most_threads = 32 * many_warps;
/// Columns of a result's row that a block sums: one per lane.
constexpr int columns_of_block = 32;

__host__ __device__ constexpr unsigned column_parts(const Arguments& a) {
  return static_cast<unsigned>(a.head_dim + columns_of_block - 1) / columns_of_block;
}

/// A block's unit, as seen by one of its threads.
struct BlockUnit {
  Unit unit;
  int head;
  int first_column;  // of the columns to sum
  int lane = lane_of_warp();
  int warp = static_cast<int>(threadIdx.x) / 32;
  int warps = static_cast<int>(blockDim.x) / 32;

  __device__ explicit BlockUnit(const Arguments& a, unsigned column_parts = 1)
      : unit(a.units[blockIdx.x / column_parts / static_cast<unsigned>(a.heads_per_unit)]),
        head(unit.first_head +
             static_cast<int>(blockIdx.x / column_parts % static_cast<unsigned>(a.heads_per_unit))),
        first_column(static_cast<int>(blockIdx.x % column_parts) * columns_of_block) {}

  /// Whether the next 32 tokens, counted by `number`, belong to this warp.
  __device__ bool takes(int& number) const { return (number++ & (warps - 1)) == warp; }
};

/// First place that the row of `token` attends to. A row whose block is outside the run gets places
/// before or after it, where there are no keys.
__device__ int first_seen(const View& view, int token) {
  const int begin = view.keys.begin, end = begin + view.keys.count;
  if (view.kind == SegmentKind::whole) return begin;
  const int opposite = token + view.shift;
  if (view.kind == SegmentKind::band) return opposite;
  if (opposite < begin) return begin - view.width;
  if (opposite >= end) return end;
  return begin + (opposite - begin) / view.width * view.width;
}

/// Whether a row that attends to places from `first` on attends to this one.
__device__ bool sees(const View& view, int first, int place) {
  return static_cast<unsigned>(place) - static_cast<unsigned>(first) <
         static_cast<unsigned>(view.reach);
}

/// The place of column 0 in a row that attends to places from `first` on.
__device__ int column_0(const View& view, int first) {
  return view.by_key ? view.keys.begin : first;
}

/// 2^31 from place 0 and so, in 32 bits, farther from all places than any row's reach.
constexpr int nowhere = -2147483647 - 1;

/// The token at a place, or nowhere if no row may attend to it.
__device__ int key_at(const View& view, const DeviceLists& lists, int place) {
  if (place < view.keys.begin || place >= view.keys.begin + view.keys.count) return nowhere;
  const int token = token_of(view.keys, lists.indices, place - view.keys.begin);
  return is_listed(view.skipped, lists.indices, token) ? nowhere : token;
}

/// The place of a token, or nowhere if no row may attend to it.
__device__ int place_of(const View& view, const DeviceLists& lists, int token) {
  const int place = view.keys.begin + position_of(view.keys, lists.indices, token);
  return key_at(view, lists, place) == token ? place : nowhere;
}

/// Places [begin, end).
struct Places {
  int begin, end;
};

/// The places streamed to stationary tokens: for rows the keys of any of them, for keys the rows
/// that attend to any of them; others may be between them.
template <bool of_keys>
__device__ Places passing_by(const WorkRun& tokens, const View& view, const DeviceLists& lists) {
  const int first = token_of(tokens, lists.indices, 0);
  const int last = token_of(tokens, lists.indices, tokens.count - 1);
  if constexpr (!of_keys) {
    const int begin = view.keys.begin;
    return {max(begin, first_seen(view, first)),
            min(begin + view.keys.count, first_seen(view, last) + view.reach)};
  }
  int from = 0, to = everywhere;
  if (view.kind == SegmentKind::band) {
    from = first - (view.shift + view.reach - 1);
    to = last + 1 - view.shift;
  } else if (view.kind == SegmentKind::block) {
    from = first_seen(view, first - view.shift) - view.shift;
    to = first_seen(view, last - view.shift) + view.width - view.shift;
  }
  return {view.rows.begin + position_of(view.rows, lists.indices, from),
          view.rows.begin + position_of(view.rows, lists.indices, to)};
}

/// Offset of the scores of a view's row at this place.
__device__ std::int64_t first_score(const View& view, int head, int row) {
  return view.first_score + (head - view.first_head) * view.head_stride +
         (row - view.rows.begin) * view.columns;
}

/// s_r = x_r . y for consecutive float32 rows x.
template <typename T>
__device__ void multiply(float (&s)[strip_tokens], const float* x, const std::byte* y,
                         const Arguments& a) {
  for_each_number<T>(y, a.head_dim, a.vector, [&](int c, float number) {
#pragma unroll
    for (int r = 0; r < strip_tokens; ++r) s[r] = fmaf(x[c * strip_tokens + r], number, s[r]);
  });
}

/// 16 x 32 numbers as computed by the tensor cores (ptx.h): tiles 2 m and 2 m + 1 have columns 16 m
/// + 2 g and 16 m + 2 g + 1 instead of column g.
using Tiles = float[4][4];

/// Converts to one column per lane. `buffer`: strip_tokens * tile_stride floats of the warp.
__device__ void to_columns(float (&columns)[strip_tokens], const Tiles& tiles, float* buffer) {
  const int g = g_of_lane(), t = t_of_lane();
  __syncwarp();  // all lanes have finished with the previous contents
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int h = i % 2 * 2, n = i / 2 * 2;
    *reinterpret_cast<float4*>(buffer + (g + 4 * h) * tile_stride +
                               ((8 * n + 4 * t) ^ g % 2 * 16)) =
        float4{tiles[n][h], tiles[n + 1][h], tiles[n][h + 1], tiles[n + 1][h + 1]};
  }
  __syncwarp();
#pragma unroll
  for (int r = 0; r < strip_tokens; ++r)
    columns[r] = buffer[r * tile_stride + (lane_of_warp() ^ r % 2 * 16)];
}

/// s_r = x_r . y on tensor cores, for rows in pieces of 16 bytes: `x` are rows g and g + 8, and
/// each lane has its key or nowhere.
template <typename T>
__device__ void multiply(float (&s)[strip_tokens], const std::byte* const (&x)[2],
                         const HeadRows<const std::byte>& keys, int key, float* buffer,
                         const Arguments& a) {
  const std::byte* y[4];
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const int token = __shfl_sync(all_lanes, key, n / 2 * 16 + 2 * g_of_lane() + n % 2);
    y[n] = token == nowhere ? nullptr : keys.at(Place(a.items, token));
  }
  Tiles tiles = {};
  for (int c = 0; c < a.head_dim; c += 16) {
    const auto pair = [&](const std::byte* row, int h) -> std::uint32_t {
      const int column = c + 8 * h + 2 * t_of_lane();
      if (row == nullptr || column >= a.head_dim) return 0;
      return __ldg(reinterpret_cast<const std::uint32_t*>(row + column * 2));
    };
    const std::uint32_t of_x[4] = {pair(x[0], 0), pair(x[1], 0), pair(x[0], 1), pair(x[1], 1)};
    std::uint32_t of_y[4][2];
#pragma unroll
    for (int i = 0; i < 8; ++i) of_y[i / 2][i % 2] = pair(y[i / 2], i % 2);
    __syncwarp();
#pragma unroll
    for (int n = 0; n < 4; ++n) multiply_add<T>(tiles[n], of_x, of_y[n][0], of_y[n][1]);
  }
  to_columns(s, tiles, buffer);
}

/// scores = scale * x_i . y_j for row i's columns; `outside` for columns without a key.
template <typename T>
__global__ void __launch_bounds__(most_threads, 2) windowed_scores_kernel(Arguments a) {
  const BlockUnit mine(a);
  const Unit& unit = mine.unit;
  const HeadRows<const std::byte> rows(a.x, mine.head), keys(a.y, mine.head);
  // Missing rows repeat the last one.
  const auto row_of = [&](int r) {
    return token_of(unit.tokens, a.lists.indices, min(r, unit.tokens.count - 1));
  };
  const auto row_at = [&](int r) { return rows.at(Place(a.items, row_of(r))); };
  const bool by_tiles = sizeof(T) == 2 && a.vector;
  float* const x = reinterpret_cast<float*>(dynamic_shared());
  float* const buffer = x + mine.warp * strip_tokens * tile_stride;
  const std::byte* const of_tile[2] = {row_at(g_of_lane()), row_at(g_of_lane() + 8)};
  for (int i = static_cast<int>(threadIdx.x); !by_tiles && i < strip_tokens * a.head_dim;
       i += 32 * mine.warps) {
    const std::byte* row = row_at(i % strip_tokens);
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
      if (!by_tiles) {
        if (key != nowhere) multiply<T>(s, x, keys.at(Place(a.items, key)), a);
      } else if constexpr (sizeof(T) == 2) {
        multiply<T>(s, of_tile, keys, key, buffer, a);
      }
      float* scores = a.scores + first_score(view, mine.head, unit.tokens.begin);
#pragma unroll
      for (int r = 0; r < strip_tokens; ++r, scores += view.columns) {
        const int first = __shfl_sync(all_lanes, first_of_row, r);
        const int column = place - column_0(view, first);
        if (r >= unit.tokens.count || column < 0 || column >= view.width) continue;
        scores[column] = key != nowhere && sees(view, first, place) ? a.scale * s[r] : a.outside;
      }
    }
  }
}

/// A warp's rows of scores, one after the other. Scores in units of log 2 are replaced with
/// weights: sum 1, or 0 in a row without keys. The gradients dP of weights P become P (dP - sum of
/// P dP).
template <bool gradients>
__global__ void __launch_bounds__(most_threads, 1) windowed_rows_kernel(Arguments a) {
  const BlockUnit mine(a);
  const WorkRun& rows = mine.unit.tokens;
  const View view = mine.unit.views > 0 ? a.lists.views[mine.unit.first_view] : View{};
  for (int r = mine.warp; r < rows.count; r += mine.warps) {
    const std::int64_t first = first_score(view, mine.head, rows.begin + r);
    float* scores = a.scores + first;
    float sum = 0.0f;
    if constexpr (gradients) {
      const float* weights = a.weights + first;
      for (std::int64_t c = mine.lane; c < view.columns; c += 32)
        sum = fmaf(weights[c], scores[c], sum);
      sum = sum_of_lanes(sum);
      for (std::int64_t c = mine.lane; c < view.columns; c += 32)
        scores[c] = weights[c] * (scores[c] - sum);
    } else {
      float maximum = minus_infinity;
      for (std::int64_t c = mine.lane; c < view.columns; c += 32)
        maximum = fmaxf(maximum, scores[c]);
      maximum = largest_of_lanes(maximum);
      const float base = base_of(maximum);
      for (std::int64_t c = mine.lane; c < view.columns; c += 32)
        sum += exp2_approx(scores[c] - base);
      sum = sum_of_lanes(sum);
      const float inverse = inverse_of(sum);
      for (std::int64_t c = mine.lane; c < view.columns; c += 32)
        scores[c] = exp2_approx(scores[c] - base) * inverse;
      if (a.lse == nullptr || mine.lane != 0) continue;
      const int token = token_of(rows, a.lists.indices, r);
      a.lse[std::int64_t{token} * a.heads + mine.head] = log_sum_exp(maximum, sum);
    }
  }
}

/// sums_s = weights of s times the streamed tokens, for each lane's column: pair by pair, skipping
/// tokens outside the pattern, whatever their values. `sums` are 0 before.
template <typename T>
__device__ void sum_pairs(float (&sums)[strip_tokens], const Passing* passed, int count, int column,
                          int columns) {
  constexpr unsigned all = (1u << strip_tokens) - 1;
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
    const Passing one = passed[k];
    float number = 0.0f;
    if (one.seen != 0 && column < columns)
      number = to_float(reinterpret_cast<const T*>(one.row)[column]);
    if (one.seen == all) {
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) sums[s] = fmaf(one.weights[s], number, sums[s]);
      continue;
    }
#pragma unroll
    for (int s = 0; s < strip_tokens; ++s)
      if ((one.seen >> s & 1u) != 0) sums[s] = fmaf(one.weights[s], number, sums[s]);
  }
}

/// The same for 32 tokens on tensor cores, for rows in pieces. A weight is the sum of two 16-bit
/// numbers, which keeps more of its float32 digits than one.
template <typename T>
__device__ void sum_tiles(float (&sums)[strip_tokens], Passing* passed, int first_column,
                          int columns) {
  const int g = g_of_lane(), t = t_of_lane();
  Tiles tiles;
  std::uint32_t trace = 0;
  const auto make = [&] {
    memset(tiles, 0, sizeof tiles);
#pragma unroll
    for (int k = 0; k < 32; k += 16) {
      const Passing* const two[2] = {passed + k + 2 * t, passed + k + 2 * t + 8};
      std::uint32_t whole[4], rest[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int s = g + i % 2 * 8;
        const float low = two[i / 2][0].weights[s], high = two[i / 2][1].weights[s];
        whole[i] = pair_of<T>(low, high);
        rest[i] =
            pair_of<T>(low - to_float(from_float<T>(low)), high - to_float(from_float<T>(high)));
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int column = first_column + 16 * m + 2 * g;
        const auto pair = [&](const Passing& one) {
          std::uint32_t two_columns = 0;
          if (one.seen != 0 && column < columns)
            two_columns = __ldg(reinterpret_cast<const std::uint32_t*>(one.row + column * 2));
          trace = trace_non_finite<T>(two_columns, trace);
          return two_columns;
        };
        std::uint32_t y[2][2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const std::uint32_t low = pair(two[h][0]), high = pair(two[h][1]);
          y[0][h] = (low & 0xffffu) | high << 16;
          y[1][h] = low >> 16 | (high & 0xffff0000u);
        }
        __syncwarp();
#pragma unroll
        for (int p = 0; p < 2; ++p) {
          multiply_add<T>(tiles[2 * m + p], whole, y[p][0], y[p][1]);
          multiply_add<T>(tiles[2 * m + p], rest, y[p][0], y[p][1]);
        }
      }
    }
  };
  make();
  if (__any_sync(all_lanes, trace != 0 ? 1 : 0) != 0) {
    // 0 times NaN is NaN. A row with such numbers is skipped, and weights that refer to it are NaN.
    Passing& own = passed[lane_of_warp()];
    float check = 0.0f;
    for (int c = first_column; own.seen != 0 && c < min(columns, first_column + 32); ++c)
      check = fmaf(0.0f, to_float(reinterpret_cast<const T*>(own.row)[c]), check);
    __syncwarp();  // all lanes have finished with the weights
#pragma unroll
    for (int s = 0; s < strip_tokens; ++s)
      own.weights[s] += (own.seen >> s & 1u) != 0 ? check : 0.0f;
    if (check != 0.0f) own.seen = 0;
    __syncwarp();
    make();
  }
  to_columns(sums, tiles, reinterpret_cast<float*>(passed));
}

/// out_i = scale * sum over row i's keys j of weight_ij y_j or, for keys, out_j = scale * sum over
/// the rows i that attend to key j of weight_ij y_i. For keys the compiler's 130 registers would be
/// two too many for 8 blocks of 2 warps; rows would spill.
template <typename T, bool of_keys>
__global__ void __launch_bounds__(most_threads, of_keys ? 2 : 1) windowed_sums_kernel(Arguments a) {
  const BlockUnit mine(a, column_parts(a));
  const WorkRun& tokens = mine.unit.tokens;
  const HeadRows<const std::byte> rows(a.y, mine.head);
  const int column = mine.first_column + mine.lane;
  Passing* const passed = reinterpret_cast<Passing*>(dynamic_shared()) + mine.warp * 32;
  float sums[strip_tokens] = {};
  int chunks = 0;
  for (int v = mine.unit.first_view; v < mine.unit.first_view + mine.unit.views; ++v) {
    const View view = a.lists.views[of_keys ? a.lists.seeing[v] : v];
    // For the lane's stationary token: the first place it attends to, or its own.
    int standing = nowhere;
    if (mine.lane < tokens.count) {
      const int token = token_of(tokens, a.lists.indices, mine.lane);
      standing = of_keys ? place_of(view, a.lists, token) : first_seen(view, token);
    }
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
      bool wild = false;  // whether a weight is finite, but beyond float16
      if (passes) passing.row = rows.at(Place(a.items, token));
      const float* row = a.weights + first_score(view, mine.head, of_keys ? at : tokens.begin);
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) {
        const int other = __shfl_sync(all_lanes, standing, s);
        const int first = of_keys ? first_of_row : other, place = of_keys ? other : at;
        const bool counts = passes && sees(view, first, place);
        passing.weights[s] = counts ? row[place - column_0(view, first)] : 0.0f;
        passing.seen |= counts ? 1u << s : 0u;
        const float size = fabsf(passing.weights[s]);
        wild = wild || (std::is_same_v<T, __half> && size > 65504.0f && size < -minus_infinity);
        if (!of_keys) row += view.columns;
      }
      __syncwarp();  // all warps have finished with the previous 32
      passed[mine.lane] = passing;
      __syncwarp();
      float latest[strip_tokens] = {};
      if (sizeof(T) == 4 || !a.vector || __any_sync(all_lanes, wild ? 1 : 0) != 0) {
        sum_pairs<T>(latest, passed, min(32, passing_by_all.end - chunk), column, a.head_dim);
      } else if constexpr (sizeof(T) == 2) {
        sum_tiles<T>(latest, passed, mine.first_column, a.head_dim);
      }
#pragma unroll
      for (int s = 0; s < strip_tokens; ++s) sums[s] += latest[s];
    }
  }
  float* const buffer = reinterpret_cast<float*>(dynamic_shared()) + mine.lane;
  __syncthreads();  // all warps have finished with the streamed tokens
#pragma unroll
  for (int s = 0; s < strip_tokens; ++s) buffer[(mine.warp * strip_tokens + s) * 32] = sums[s];
  __syncthreads();
  const HeadRows<std::byte> out(a.out, mine.head);
  for (int s = mine.warp; s < tokens.count && column < a.head_dim; s += mine.warps) {
    float sum = 0.0f;
    for (int warp = 0; warp < mine.warps; ++warp) sum += buffer[(warp * strip_tokens + s) * 32];
    std::byte* row = out.at(Place(a.items, token_of(tokens, a.lists.indices, s)));
    reinterpret_cast<T*>(row)[column] = from_float<T>(a.scale * sum);
  }
}

using NamedFloats = std::initializer_list<std::pair<std::string_view, const float*>>;

/// The launches of one call, which return its status: all arguments are checked before the first,
/// and after an error nothing more is queued.
class Call {
 public:
  Call(std::string_view operation, const WindowedWork& work, const std::byte* list, Stream stream,
       const std::vector<NamedTensor>& tensors, NamedFloats all_floats)
      : operation_(operation),
        lists_(*work.lists),
        list_(list),
        stream_(stream),
        operands_(lists_.dtype, lists_.head_dim, lists_.tokens, tensors),
        status_(check_memory(operation, list, work.list().size(), nullptr, 0)) {
    if (!operands_.status()) status_ = operands_.status();
    for (const auto& [name, floats] : all_floats) {
      if (status_ && floats == nullptr && work.score_elements() > 0)
        status_ = no_memory_for(operation, name, work.score_elements());
    }
  }

  const Status& scores(const ConstTensor& x, const ConstTensor& y, float* to, float scale = 1.0f,
                       float outside = 0.0f) {
    const auto kernel = with_type(lists_.dtype, [](auto type) -> Kernel {
      return windowed_scores_kernel<typename NumberOf<type()>::T>;
    });
    return queue("windowed scores", kernel, lists_.rows,
                 {.x = operands_.on_device(x),
                  .y = operands_.on_device(y),
                  .scores = to,
                  .scale = scale,
                  .outside = outside});
  }
  template <bool gradients>
  const Status& rows(float* scores, const float* weights, float* lse) {
    return queue(gradients ? "windowed score gradients" : "windowed softmax",
                 windowed_rows_kernel<gradients>, lists_.rows,
                 {.scores = scores, .weights = weights, .lse = lse});
  }
  template <bool of_keys>
  const Status& sums(const float* weights, const ConstTensor& y, const Tensor& to,
                     float scale = 1.0f) {
    if (of_keys && status_ && lists_.passes == Passes::forward)
      status_ = made_for_forward_only(operation_);
    const auto kernel = with_type(lists_.dtype, [](auto type) -> Kernel {
      return windowed_sums_kernel<typename NumberOf<type()>::T, of_keys>;
    });
    return queue(of_keys ? "windowed keys" : "windowed values", kernel,
                 of_keys ? lists_.keys : lists_.rows,
                 {.y = operands_.on_device(y),
                  .out = operands_.on_device(to),
                  .weights = weights,
                  .scale = scale});
  }

 private:
  using Kernel = void (*)(Arguments);

  /// First the units with many streamed tokens, then the rest.
  const Status& queue(const char* name, Kernel kernel, const Lists::Units& units, Arguments a) {
    a.lists = device_list(lists_, list_);
    a.items = operands_.items();
    a.head_dim = static_cast<std::int32_t>(lists_.head_dim);
    a.heads = lists_.heads;
    a.heads_per_unit = lists_.heads_per_unit;
    a.vector = operands_.in_pieces();
    a.units = &units == &lists_.keys ? a.lists.key_units : a.lists.row_units;
    const bool sums = a.out.data != nullptr;
    const std::int64_t parts = sums ? column_parts(a) : 1;
    const auto launch_some = [&](std::int64_t count, int warps) {
      if (!status_) return;
      std::int64_t shared = 0;
      if (sums) shared = shared_of_sums(warps);
      if (a.x.data != nullptr) shared = shared_of_scores(a.head_dim, warps);
      status_ =
          launch(name, kernel, {count * a.heads_per_unit * parts, 32 * warps, shared}, stream_, a);
      a.units += count;
    };
    launch_some(units.much, many_warps);
    launch_some(std::ssize(units.all) - units.much, few_warps);
    return status_;
  }

  std::string_view operation_;
  const Lists& lists_;
  const std::byte* list_;
  Stream stream_;
  Operands operands_;
  Status status_;
};

}  // namespace
}  // namespace windowed

using windowed::Call;

Status windowed_qk(const WindowedWork& work, const std::byte* list, const ConstTensor& q,
                   const ConstTensor& k, float scale, float* band, Stream stream) {
  Call call("windowed_qk", work, list, stream, {{"q", q}, {"k", k}}, {{"the band", band}});
  return call.scores(q, k, band, scale);
}

Status windowed_pv(const WindowedWork& work, const std::byte* list, const float* band,
                   const ConstTensor& v, const Tensor& o, Stream stream) {
  Call call("windowed_pv", work, list, stream, {{"v", v}, {"o", as_const(o)}},
            {{"the band", band}});
  return call.sums<false>(band, v, o);
}

Status windowed_qk_backward(const WindowedWork& work, const std::byte* list, const float* grad_band,
                            const ConstTensor& q, const ConstTensor& k, float scale,
                            const Tensor& grad_q, const Tensor& grad_k, Stream stream) {
  Call call("windowed_qk_backward", work, list, stream,
            {{"q", q}, {"k", k}, {"grad_q", as_const(grad_q)}, {"grad_k", as_const(grad_k)}},
            {{"the band's gradient", grad_band}});
  call.sums<true>(grad_band, q, grad_k, scale);
  return call.sums<false>(grad_band, k, grad_q, scale);
}

Status windowed_pv_backward(const WindowedWork& work, const std::byte* list, const float* band,
                            const ConstTensor& v, const ConstTensor& grad_o, float* grad_band,
                            const Tensor& grad_v, Stream stream) {
  Call call("windowed_pv_backward", work, list, stream,
            {{"v", v}, {"grad_o", grad_o}, {"grad_v", as_const(grad_v)}},
            {{"the band", band}, {"the band's gradient", grad_band}});
  call.sums<true>(band, grad_o, grad_v);
  return call.scores(grad_o, v, grad_band);
}

Status windowed_forward(const WindowedWork& work, const std::byte* list, const ConstTensor& q,
                        const ConstTensor& k, const ConstTensor& v, float scale, const Tensor& o,
                        float* lse, float* scores, Stream stream) {
  Call call("windowed_forward", work, list, stream,
            {{"q", q}, {"k", k}, {"v", v}, {"o", as_const(o)}}, {{"the scores", scores}});
  call.scores(q, k, scores, scale * log2_e, minus_infinity);
  call.rows<false>(scores, nullptr, lse);
  return call.sums<false>(scores, v, o);
}

Status windowed_backward(const WindowedWork& work, const std::byte* list, const GradientTensors& t,
                         float scale, const float* weights, float* grad_scores, Stream stream) {
  std::vector<NamedTensor> tensors = named(t);
  tensors.pop_back();  // o
  Call call("windowed_backward", work, list, stream, tensors,
            {{"the weights", weights}, {"the scores' gradient", grad_scores}});
  call.sums<true>(weights, t.grad_o, t.grad_v);
  call.scores(t.grad_o, t.v, grad_scores);
  call.rows<true>(grad_scores, weights, nullptr);
  call.sums<true>(grad_scores, t.q, t.grad_k, scale);
  return call.sums<false>(grad_scores, t.k, t.grad_q, scale);
}

}  // namespace attnscope::cuda
