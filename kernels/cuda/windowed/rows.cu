// SPDX-License-Identifier: Apache-2.0
//
// The joint softmax over all segments of a row and its gradient, in place: a warp a row. Rows that
// fit in its registers are read and written once; where they are short, several are under way. And
// the sums that several units left of the same rows or keys, added up in the units' order: a thread
// a number.

#include "kernels/cuda/launch.h"
#include "kernels/cuda/windowed/products.cuh"

namespace attnscope::cuda::windowed {
namespace {

/// x of all lanes, by `combine`.
template <int count, typename Combine>
__device__ void over_lanes(float (&x)[count], const Combine& combine) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
#pragma unroll
    for (int i = 0; i < count; ++i) x[i] = combine(x[i], __shfl_xor_sync(all_lanes, x[i], lanes));
  }
}

template <int count>
__device__ void sum_over_lanes(float (&x)[count]) {
  over_lanes(x, [](float a, float b) { return a + b; });
}

template <int count>
__device__ void largest_over_lanes(float (&x)[count]) {
  over_lanes(x, [](float a, float b) { return fmaxf(a, b); });
}

/// What is taken from a row's scores before the exponential: its largest, or 0 if it has no keys.
__device__ float base_of(float largest) {
  return largest == minus_infinity ? 0.0f : largest;
}

/// The rows of a unit for one head.
struct UnitRows {
  const Arguments& a;
  Unit unit;
  std::int32_t local_head;

  __device__ explicit UnitRows(const Arguments& arguments)
      : a(arguments),
        unit(a.lists.row_units[blockIdx.x / static_cast<unsigned>(a.heads_per_unit)]),
        local_head(
            static_cast<std::int32_t>(blockIdx.x % static_cast<unsigned>(a.heads_per_unit))) {}

  __device__ std::int64_t first_score(std::int32_t row) const {
    return unit.first_score + local_head * unit.head_stride + std::int64_t{row} * unit.columns;
  }

  __device__ void write_lse(std::int32_t row, float largest, float sum) const {
    if (a.lse == nullptr || lane_id() != 0) return;
    const std::int32_t token = token_of(unit.tokens, a.lists.indices, row);
    a.lse[std::int64_t{token} * a.heads + unit.first_head + local_head] = log_sum_exp(largest, sum);
  }
};

/// Rows of up to 32 * `pieces` columns, `rows` of them at a time.
template <int rows, int pieces>
struct ShortRows {
  float x[rows][pieces];

  __device__ void load(const UnitRows& unit, const float* from, std::int32_t first, float beyond) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int p = 0; p < pieces; ++p) {
        const std::int32_t row = first + r * warps, column = p * 32 + lane_id();
        x[r][p] = row < unit.unit.tokens.count && column < unit.unit.columns
                      ? from[unit.first_score(row) + column]
                      : beyond;
      }
    }
  }

  __device__ void store(const UnitRows& unit, float* to, std::int32_t first) const {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int p = 0; p < pieces; ++p) {
        const std::int32_t row = first + r * warps, column = p * 32 + lane_id();
        if (row < unit.unit.tokens.count && column < unit.unit.columns) {
          to[unit.first_score(row) + column] = x[r][p];
        }
      }
    }
  }
};

template <int rows, int pieces>
__device__ void softmax_of_short_rows(const UnitRows& unit) {
  for (std::int32_t first = warp_id(); first < unit.unit.tokens.count; first += rows * warps) {
    ShortRows<rows, pieces> s;
    s.load(unit, unit.a.scores, first, minus_infinity);
    float largest[rows], sum[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      largest[r] = s.x[r][0];
#pragma unroll
      for (int p = 1; p < pieces; ++p) largest[r] = fmaxf(largest[r], s.x[r][p]);
    }
    largest_over_lanes(largest);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      sum[r] = 0.0f;
#pragma unroll
      for (int p = 0; p < pieces; ++p) {
        sum[r] += s.x[r][p] = exp2_approx(s.x[r][p] - base_of(largest[r]));
      }
    }
    sum_over_lanes(sum);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const float inverse = inverse_of(sum[r]);
#pragma unroll
      for (int p = 0; p < pieces; ++p) s.x[r][p] *= inverse;
      if (first + r * warps < unit.unit.tokens.count) {
        unit.write_lse(first + r * warps, largest[r], sum[r]);
      }
    }
    s.store(unit, unit.a.scores, first);
  }
}

/// Rows of any length are read twice: for the sum, which is rescaled where a larger score comes,
/// and for the weights.
__device__ void softmax_of_long_rows(const UnitRows& unit) {
  const std::int32_t columns = unit.unit.columns;
  for (std::int32_t row = warp_id(); row < unit.unit.tokens.count; row += warps) {
    float* s = unit.a.scores + unit.first_score(row);
    constexpr int together = 4;
    float base[1] = {minus_infinity}, sum[1] = {0.0f};
    for (std::int32_t c = lane_id(); c < columns; c += 32 * together) {
      float x[together], largest = base[0];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        x[i] = c + i * 32 < columns ? s[c + i * 32] : minus_infinity;
      }
#pragma unroll
      for (int i = 0; i < together; ++i) largest = fmaxf(largest, x[i]);
      sum[0] *= exp2_approx(base[0] - base_of(largest));
#pragma unroll
      for (int i = 0; i < together; ++i) sum[0] += exp2_approx(x[i] - base_of(largest));
      base[0] = largest;
    }
    const float own = base[0];
    largest_over_lanes(base);
    sum[0] *= exp2_approx(own - base_of(base[0]));
    sum_over_lanes(sum);
    const float inverse = inverse_of(sum[0]);
#pragma unroll 4
    for (std::int32_t c = lane_id(); c < columns; c += 32) {
      s[c] = exp2_approx(s[c] - base_of(base[0])) * inverse;
    }
    unit.write_lse(row, base[0], sum[0]);
  }
}

__global__ __launch_bounds__(block_threads, 6) void softmax_kernel(Arguments a) {
  const UnitRows unit(a);
  if (unit.unit.first_of_tokens == 0) return;
  const std::int32_t pieces = (unit.unit.columns + 31) / 32;
  if (pieces <= 1) return softmax_of_short_rows<8, 1>(unit);
  if (pieces <= 2) return softmax_of_short_rows<4, 2>(unit);
  if (pieces <= 5) return softmax_of_short_rows<2, 5>(unit);
  if (pieces <= 10) return softmax_of_short_rows<1, 10>(unit);
  softmax_of_long_rows(unit);
}

/// dS = P (dP - D), D = sum of P dP. Outside the pattern P and dP are 0.
template <int rows, int pieces>
__device__ void gradients_of_short_rows(const UnitRows& unit) {
  for (std::int32_t first = warp_id(); first < unit.unit.tokens.count; first += rows * warps) {
    ShortRows<rows, pieces> weights, gradients;
    weights.load(unit, unit.a.weights, first, 0.0f);
    gradients.load(unit, unit.a.scores, first, 0.0f);
    float mean[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      mean[r] = 0.0f;
#pragma unroll
      for (int p = 0; p < pieces; ++p) {
        mean[r] = fmaf(weights.x[r][p], gradients.x[r][p], mean[r]);
      }
    }
    sum_over_lanes(mean);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int p = 0; p < pieces; ++p) {
        gradients.x[r][p] = weights.x[r][p] * (gradients.x[r][p] - mean[r]);
      }
    }
    gradients.store(unit, unit.a.scores, first);
  }
}

__device__ void gradients_of_long_rows(const UnitRows& unit) {
  const std::int32_t columns = unit.unit.columns;
  for (std::int32_t row = warp_id(); row < unit.unit.tokens.count; row += warps) {
    const float* weights = unit.a.weights + unit.first_score(row);
    float* gradients = unit.a.scores + unit.first_score(row);
    float mean[1] = {0.0f};
#pragma unroll 4
    for (std::int32_t c = lane_id(); c < columns; c += 32) {
      mean[0] = fmaf(weights[c], gradients[c], mean[0]);
    }
    sum_over_lanes(mean);
#pragma unroll 4
    for (std::int32_t c = lane_id(); c < columns; c += 32) {
      gradients[c] = weights[c] * (gradients[c] - mean[0]);
    }
  }
}

__global__ __launch_bounds__(block_threads, 6) void score_gradients_kernel(Arguments a) {
  const UnitRows unit(a);
  if (unit.unit.first_of_tokens == 0) return;
  const std::int32_t pieces = (unit.unit.columns + 31) / 32;
  if (pieces <= 1) return gradients_of_short_rows<8, 1>(unit);
  if (pieces <= 2) return gradients_of_short_rows<4, 2>(unit);
  if (pieces <= 5) return gradients_of_short_rows<1, 5>(unit);
  gradients_of_long_rows(unit);
}

template <typename T>
__device__ void merge(const Arguments& a) {
  const auto heads = static_cast<unsigned>(a.heads_per_unit);
  const Merge merge = a.merges[blockIdx.x / heads];
  const auto head = static_cast<std::int32_t>(blockIdx.x % heads);
  const HeadRows<std::byte> out(a.out, merge.first_head + head);
  const std::int64_t row_floats = std::int64_t{a.heads_per_unit} * a.head_dim;
  const std::int64_t part_floats = merge.stride * row_floats;
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < merge.tokens.count * a.head_dim;
       i += block_threads) {
    const std::int32_t row = i / a.head_dim, column = i % a.head_dim;
    const float* from =
        a.partials + (merge.first + row) * row_floats + std::int64_t{head} * a.head_dim + column;
    float sum = 0.0f;
#pragma unroll 8
    for (std::int32_t p = 0; p < merge.parts; ++p) sum += from[p * part_floats];
    std::byte* to = out.at(Place(a.items, token_of(merge.tokens, a.lists.indices, row)));
    reinterpret_cast<T*>(to)[column] = from_float<T>(a.scale * sum);
  }
}

__global__ __launch_bounds__(block_threads) void merge_kernel(Arguments a) {
  switch (a.dtype) {
    case DType::float32:
      return merge<float>(a);
    case DType::float16:
      return merge<__half>(a);
    case DType::bfloat16:
      return merge<__nv_bfloat16>(a);
  }
}

}  // namespace

Status launch_softmax(const Arguments& arguments, std::int64_t blocks, Stream stream) {
  return launch("windowed softmax", softmax_kernel, {blocks, block_threads, 0}, stream, arguments);
}

Status launch_score_gradients(const Arguments& arguments, std::int64_t blocks, Stream stream) {
  return launch("windowed score gradients", score_gradients_kernel, {blocks, block_threads, 0},
                stream, arguments);
}

Status launch_merges(const Arguments& arguments, std::int64_t blocks, Stream stream) {
  return launch("windowed merges", merge_kernel, {blocks, block_threads, 0}, stream, arguments);
}

}  // namespace attnscope::cuda::windowed
