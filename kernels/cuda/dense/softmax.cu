// SPDX-License-Identifier: Apache-2.0
//
// A row is processed by one warp up to 1024 columns, above that by a block, whose threads process
// its vectors in turn. Every pass reads them again, from the caches after the first.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/dense/softmax.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/rows.cuh"

namespace attnscope::cuda {
namespace {

/// Vectors of 16 bytes, in which rows are read and written.
template <typename T>
struct alignas(16) Vector {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));
  T values[width];
};

constexpr int block_threads = 256;
/// Number of threads that share a row.
__host__ __device__ constexpr int threads_of_row(const Scores& scores) {
  return scores.columns <= 1024 ? 32 : block_threads;
}

struct RowArguments {
  Scores scores;
  std::byte* values;
  const std::byte* weights;  // backward only
  float* lse;
};

/// One row of the scores, as seen by one of its threads.
template <typename T>
struct Row {
  const Scores& scores;
  int threads, thread;  // of the row
  std::int64_t index;   // in [items, heads, rows]
  const std::uint8_t* mask = nullptr;

  __device__ explicit Row(const RowArguments& arguments)
      : scores(arguments.scores),
        threads(threads_of_row(scores)),
        thread(static_cast<int>(threadIdx.x) % threads),
        index(static_cast<std::int64_t>(blockIdx.x) * (block_threads / threads) +
              static_cast<int>(threadIdx.x) / threads) {
    if (scores.mask == nullptr) return;
    const std::int64_t matrix = scores.masks > 1 ? head() : 0;
    mask = scores.mask + (matrix * scores.rows + row_of_item()) * scores.stride;
  }

  [[nodiscard]] __device__ std::int64_t head() const { return index / scores.rows % scores.heads; }
  [[nodiscard]] __device__ std::int64_t row_of_item() const { return index % scores.rows; }

  /// Returns false past the last row, for all threads of the row.
  [[nodiscard]] __device__ bool is_there() const {
    return index < scores.items * scores.heads * scores.rows;
  }

  /// Calls visit(first column) for each of the thread's vectors.
  template <typename Visit>
  __device__ void for_each(const Visit& visit) const {
    const std::int64_t step = std::int64_t{threads} * Vector<T>::width;
    for (std::int64_t column = std::int64_t{thread} * Vector<T>::width; column < scores.columns;
         column += step) {
      visit(column);
    }
  }

  /// The row's vector at `column`, with `refused` for masked values and past the last column, where
  /// nothing was written.
  [[nodiscard]] __device__ Vector<T> load(const std::byte* matrices, std::int64_t column,
                                          float refused) const {
    constexpr int width = Vector<T>::width;
    const T* from = reinterpret_cast<const T*>(matrices) + index * scores.stride + column;
    const std::int64_t left = scores.columns - column;
    Vector<T> vector;
    if (left >= width) {
      *reinterpret_cast<uint4*>(&vector) = *reinterpret_cast<const uint4*>(from);
    } else {
#pragma unroll
      for (int i = 0; i < width; ++i)
        vector.values[i] = i < left ? from[i] : from_float<T>(refused);
    }
    if (mask == nullptr) return vector;
    struct alignas(width) Allowed {
      std::uint8_t columns[width];
    };
    const Allowed allowed = *reinterpret_cast<const Allowed*>(mask + column);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if (allowed.columns[i] == 0) vector.values[i] = from_float<T>(refused);
    }
    return vector;
  }
  __device__ void store(std::byte* matrices, std::int64_t column, const Vector<T>& vector) const {
    T* to = reinterpret_cast<T*>(matrices) + index * scores.stride + column;
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(&vector);
  }

  /// Reduces a value over all threads of the row, with a function that reduces a warp's values;
  /// `nothing` is its neutral value.
  /// `shared`: a float for each of the block's warps, not otherwise used in this launch.
  template <typename OfLanes>
  [[nodiscard]] __device__ float over_threads(float value, float nothing, float* shared,
                                              const OfLanes& of_lanes) const {
    value = of_lanes(value);
    if (threads == 32) return value;
    const int lane = thread % 32;
    if (lane == 0) shared[thread / 32] = value;
    __syncthreads();
    return of_lanes(lane < block_threads / 32 ? shared[lane] : nothing);
  }
};

template <typename T>
__global__ void __launch_bounds__(block_threads, 5) dense_softmax_kernel(RowArguments arguments) {
  const Row<T> row(arguments);
  if (!row.is_there()) return;
  float* shared = reinterpret_cast<float*>(dynamic_shared());

  // In units of log 2. A sum is rescaled for a larger score, so that scores are read only twice.
  float largest = minus_infinity, sum = 0.0F;
  row.for_each([&](std::int64_t column) {
    const Vector<T> vector = row.load(arguments.values, column, minus_infinity);
    const float before = largest;
#pragma unroll
    for (const T value : vector.values) largest = fmaxf(largest, to_float(value) * log2_e);
    const float base = base_of(largest);
    sum *= exp2_approx(before - base);
#pragma unroll
    for (const T value : vector.values) sum += exp2_approx(fmaf(to_float(value), log2_e, -base));
  });
  const float base = base_of(row.over_threads(largest, minus_infinity, shared, largest_of_lanes<>));
  sum = row.over_threads(sum * exp2_approx(largest - base), 0.0F, shared + block_threads / 32,
                         sum_of_lanes<>);

  const float factor = inverse_of(sum);
  row.for_each([&](std::int64_t column) {
    Vector<T> vector = row.load(arguments.values, column, minus_infinity);
#pragma unroll
    for (T& value : vector.values) {
      value = from_float<T>(exp2_approx(fmaf(to_float(value), log2_e, -base)) * factor);
    }
    row.store(arguments.values, column, vector);
  });
  if (arguments.lse == nullptr || row.thread != 0) return;
  const Scores& of = arguments.scores;
  const std::int64_t item = row.index / (of.heads * of.rows);
  arguments.lse[(item * of.rows + row.row_of_item()) * of.heads + row.head()] =
      log_sum_exp(base, sum);
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    dense_softmax_backward_kernel(RowArguments arguments) {
  const Row<T> row(arguments);
  if (!row.is_there()) return;
  float sum = 0.0F;
  row.for_each([&](std::int64_t column) {
    const Vector<T> p = row.load(arguments.weights, column, 0.0F);
    const Vector<T> g = row.load(arguments.values, column, 0.0F);
#pragma unroll
    for (int i = 0; i < Vector<T>::width; ++i) {
      sum = fmaf(to_float(p.values[i]), to_float(g.values[i]), sum);
    }
  });
  sum = row.over_threads(sum, 0.0F, reinterpret_cast<float*>(dynamic_shared()), sum_of_lanes<>);
  row.for_each([&](std::int64_t column) {
    const Vector<T> p = row.load(arguments.weights, column, 0.0F);
    Vector<T> g = row.load(arguments.values, column, 0.0F);
#pragma unroll
    for (int i = 0; i < Vector<T>::width; ++i) {
      // If the weight is 0, as for a masked pair, the gradient is ignored.
      const float weight = to_float(p.values[i]);
      g.values[i] = from_float<T>(weight == 0.0F ? 0.0F : weight * (to_float(g.values[i]) - sum));
    }
    row.store(arguments.values, column, g);
  });
}

template <typename T>
__global__ void __launch_bounds__(block_threads) dense_mask_kernel(RowArguments arguments) {
  const Row<T> row(arguments);
  if (!row.is_there()) return;
  row.for_each([&](std::int64_t column) {
    row.store(arguments.values, column, row.load(arguments.values, column, 0.0F));
  });
}

/// Launches kernel_of(a number of the scores' type) over all rows.
template <typename KernelOf>
Status launch_rows(const char* name, const RowArguments& arguments, Stream stream,
                   const KernelOf& kernel_of) {
  const Scores& scores = arguments.scores;
  const std::int64_t rows = scores.items * scores.heads * scores.rows;
  const std::int64_t rows_of_block = block_threads / threads_of_row(scores);
  constexpr std::int64_t shared_bytes = 2 * block_threads / 32 * std::int64_t{sizeof(float)};
  const LaunchShape shape = {(rows + rows_of_block - 1) / rows_of_block, block_threads,
                             shared_bytes};
  return with_type(scores.dtype, [&](auto type) {
    return launch(name, kernel_of(typename NumberOf<type()>::T{}), shape, stream, arguments);
  });
}

}  // namespace

Status softmax_forward(const Scores& scores, std::byte* values, float* lse, Stream stream) {
  return launch_rows("softmax_forward", {scores, values, nullptr, lse}, stream,
                     [](auto number) { return dense_softmax_kernel<decltype(number)>; });
}

Status softmax_backward(Scores scores, const std::byte* weights, std::byte* gradients,
                        Stream stream) {
  scores.mask = nullptr;  // the weights already include it
  return launch_rows("softmax_backward", {scores, gradients, weights, nullptr}, stream,
                     [](auto number) { return dense_softmax_backward_kernel<decltype(number)>; });
}

Status apply_mask(const Scores& scores, std::byte* values, Stream stream) {
  if (scores.mask == nullptr) return {};
  return launch_rows("apply_mask", {scores, values, nullptr, nullptr}, stream,
                     [](auto number) { return dense_mask_kernel<decltype(number)>; });
}

}  // namespace attnscope::cuda
