// SPDX-License-Identifier: Apache-2.0
//
// Segment attention for everything that walks (walk.cuh) do not support: float32, any head
// dimension, listed tokens, skipped tokens, blocks, windows of any width. A warp has one row in
// shared memory as float32; the tokens it attends to are streamed, one per lane. Other tokens are
// never read, so that their values that are not finite have no effect.
//
// Backward as in walk_backward.cuh:
//
//             stationary     streamed    sums
//   rows      q, grad_o      k, v        grad_q += dS k
//   keys      k, v           q, grad_o   grad_k += dS^T q, grad_v += P^T grad_o

#include "kernels/cuda/launch.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/segment/arguments.h"

namespace attnscope::cuda {
namespace {

constexpr int columns_a_lane = 8;  // for rows of up to 256 numbers

/// Calls `visit` with the tokens to which `token` attends, up to 32 at a time: the lane's token, or
/// -1, and the number of lanes with a token. Called by all lanes of the warp.
template <typename Visit>
__device__ __forceinline__ void for_each_seen(const DeviceList& list, const WorkUnit& unit,
                                              int token, const Visit& visit) {
  const int lane = lane_of_warp();
  for (int s = 0; s < unit.segments; ++s) {
    const WorkSegment& segment = list.segments[unit.first_segment + s];
    const int begin = position_of(segment.run, list.indices, token + segment.low);
    const int end = position_of(segment.run, list.indices, token + segment.high);
    for (int first = begin; first < end; first += 32) {
      const int passing =
          first + lane < end ? token_of(segment.run, list.indices, first + lane) : -1;
      __syncwarp();
      visit(passing, min(32, end - first));
    }
  }
}

/// A row of a unit, processed by one warp. In shared memory the warp has for each lane the streamed
/// token and its two weights, then two rows of `head_dim` numbers.
struct PlainRow {
  const WorkUnit& unit;
  int head;
  int* tokens;
  float* weights[2];
  float* rows[2];

  __device__ __forceinline__ explicit PlainRow(const UnitArguments& call)
      : unit(call.list.units[call.first_unit + blockIdx.x / call.heads_per_unit]),
        head(unit.first_head + static_cast<int>(blockIdx.x % call.heads_per_unit)) {
    float* mine = reinterpret_cast<float*>(dynamic_shared()) +
                  static_cast<int>(threadIdx.x >> 5) * (plain_floats + 2 * call.head_dim);
    tokens = reinterpret_cast<int*>(mine);
    weights[0] = mine + 32;
    weights[1] = mine + 64;
    rows[0] = mine + plain_floats;
    rows[1] = rows[0] + call.head_dim;
  }

  /// Passes the tokens of the first `count` lanes, with their weights, to all lanes: use(token,
  /// location of its weights). Called by all lanes of the warp.
  template <typename Use>
  __device__ __forceinline__ void share(int count, int token, float first, float second,
                                        const Use& use) const {
    const int lane = lane_of_warp();
    tokens[lane] = token;
    weights[0][lane] = first;
    weights[1][lane] = second;
    __syncwarp();
#pragma unroll 1
    for (int i = 0; i < count; ++i) use(tokens[i], i);
  }
};

/// Dot product held . row.
template <typename T>
__device__ __forceinline__ float dot_with(const float* held, const std::byte* row,
                                          const UnitArguments& call) {
  float sum = 0.0f;
  for_each_number<T>(row, call.head_dim, call.vector,
                     [&](int c, float number) { sum = fmaf(held[c], number, sum); });
  return sum;
}

/// Sums of the streamed rows, some columns per lane.
struct ColumnSums {
  float sum[columns_a_lane] = {};

  template <typename T>
  __device__ __forceinline__ void add(float weight, const std::byte* row, int columns) {
    const int lane = lane_of_warp();
#pragma unroll
    for (int i = 0; i < columns_a_lane; ++i) {
      const int c = lane + 32 * i;
      if (c < columns) sum[i] = fmaf(weight, to_float(reinterpret_cast<const T*>(row)[c]), sum[i]);
    }
  }
  template <typename T>
  __device__ __forceinline__ void store(float factor, std::byte* row, int columns) const {
    const int lane = lane_of_warp();
#pragma unroll
    for (int i = 0; i < columns_a_lane; ++i) {
      const int c = lane + 32 * i;
      if (c < columns) reinterpret_cast<T*>(row)[c] = from_float<T>(sum[i] * factor);
    }
  }
  __device__ __forceinline__ void scale(float factor) {
#pragma unroll
    for (int i = 0; i < columns_a_lane; ++i) sum[i] *= factor;
  }
};

template <typename T>
__global__ void __launch_bounds__(32 * plain_warps, 4)
    segment_forward_kernel(ForwardArguments call) {
  const UnitArguments& a = call;
  const PlainRow mine(a);
  const HeadRows<const std::byte> q(call.q, mine.head), k(call.k, mine.head), v(call.v, mine.head);
  const HeadRows<std::byte> o(call.o, mine.head);
  const float factor = a.scale * log2_e;
  for (int i = static_cast<int>(threadIdx.x) >> 5; i < mine.unit.run.count; i += plain_warps) {
    const int token = token_of(mine.unit.run, a.list.indices, i);
    const Place place(a.items, token);
    __syncwarp();
    hold<T>(mine.rows[0], q.at(place), a.head_dim);
    __syncwarp();
    float maximum = minus_infinity, sum = 0.0f;
    ColumnSums sums;
    for_each_seen(a.list, mine.unit, token, [&](int key, int count) {
      const float score = key < 0
                              ? minus_infinity
                              : factor * dot_with<T>(mine.rows[0], k.at(Place(a.items, key)), a);
      const float largest = largest_of_lanes(fmaxf(maximum, score));
      const float base = base_of(largest);
      const float rescale = exp2_approx(maximum - base);
      const float weight = exp2_approx(score - base);
      maximum = largest;
      sum = fmaf(sum, rescale, weight);
      sums.scale(rescale);
      mine.share(count, key, weight, 0.0f, [&](int token_of_lane, int lane) {
        sums.add<T>(mine.weights[0][lane], v.at(Place(a.items, token_of_lane)), a.head_dim);
      });
    });
    sum = sum_of_lanes(sum);
    sums.store<T>(inverse_of(sum), o.at(place), a.head_dim);
    if (call.lse != nullptr && lane_of_warp() == 0)
      call.lse[static_cast<std::int64_t>(token) * a.heads + mine.head] = log_sum_exp(maximum, sum);
  }
}

template <typename T, bool Keys>
__global__ void __launch_bounds__(32 * plain_warps, 4)
    segment_backward_kernel(BackwardArguments call) {
  const UnitArguments& a = call;
  const PlainRow mine(a);
  const HeadRows<const std::byte> standing[2] = {{Keys ? call.k : call.q, mine.head},
                                                 {Keys ? call.v : call.grad_o, mine.head}};
  const HeadRows<const std::byte> passing[2] = {{Keys ? call.q : call.k, mine.head},
                                                {Keys ? call.grad_o : call.v, mine.head}};
  const HeadRows<std::byte> result(Keys ? call.grad_k : call.grad_q, mine.head),
      grad_v(call.grad_v, mine.head);
  RowNumbers* const numbers = call.numbers + mine.head * call.tokens;
  float* const first = mine.rows[0];
  float* const second = mine.rows[1];
  const float factor = a.scale * log2_e;
  for (int i = static_cast<int>(threadIdx.x) >> 5; i < mine.unit.run.count; i += plain_warps) {
    const int token = token_of(mine.unit.run, a.list.indices, i);
    const Place place(a.items, token);
    __syncwarp();
    hold<T>(first, standing[0].at(place), a.head_dim);
    hold<T>(second, standing[1].at(place), a.head_dim);
    __syncwarp();
    RowNumbers row;
    if constexpr (!Keys) {
      row.subtrahend =
          subtrahend_of(call.lse[static_cast<std::int64_t>(token) * a.heads + mine.head]);
      row.minus_dot =
          -dot_with<T>(second, HeadRows<const std::byte>(call.o, mine.head).at(place), a);
      if (lane_of_warp() == 0) numbers[token] = row;
    }
    ColumnSums sums, value_sums;  // the latter for keys only
    for_each_seen(a.list, mine.unit, token, [&](int other, int count) {
      float weight = 0.0f, by_score = 0.0f;
      if (other >= 0) {
        const Place at(a.items, other);
        if constexpr (Keys) row = numbers[other];
        const float score = dot_with<T>(first, passing[0].at(at), a);
        weight = exp2_approx(fmaf(score, factor, -row.subtrahend));
        by_score = weight * (dot_with<T>(second, passing[1].at(at), a) + row.minus_dot);
      }
      mine.share(count, other, by_score, weight, [&](int token_of_lane, int lane) {
        const Place at(a.items, token_of_lane);
        sums.add<T>(mine.weights[0][lane], passing[0].at(at), a.head_dim);
        if constexpr (Keys) value_sums.add<T>(mine.weights[1][lane], passing[1].at(at), a.head_dim);
      });
    });
    sums.store<T>(a.scale, result.at(place), a.head_dim);
    if constexpr (Keys) value_sums.store<T>(1.0f, grad_v.at(place), a.head_dim);
  }
}

LaunchShape shape_of(const UnitArguments& call) {
  return {
      std::int64_t{call.units} * call.heads_per_unit, 32 * plain_warps,
      std::int64_t{plain_warps * (plain_floats + 2 * call.head_dim)} * std::int64_t{sizeof(float)}};
}

}  // namespace

Status plain_forward(DType dtype, const ForwardArguments& arguments, Stream stream) {
  return with_type(dtype, [&](auto type) {
    return launch("segment_forward", segment_forward_kernel<typename NumberOf<type()>::T>,
                  shape_of(arguments), stream, arguments);
  });
}

Status plain_backward(DType dtype, const BackwardArguments& arguments, Standing what,
                      Stream stream) {
  return with_type(dtype, [&](auto type) {
    using T = typename NumberOf<type()>::T;
    const auto kernel = what == Standing::keys ? segment_backward_kernel<T, true>
                                               : segment_backward_kernel<T, false>;
    return launch("segment_backward", kernel, shape_of(arguments), stream, arguments);
  });
}

}  // namespace attnscope::cuda
