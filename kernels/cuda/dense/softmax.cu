// SPDX-License-Identifier: Apache-2.0
//
// A row is a warp's up to 1024 columns, above that a block's, whose threads take its vectors in
// turn. Every pass reads them again, all but the first from the caches.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/dense/softmax.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/rows.cuh"

namespace attnscope::cuda {
namespace {

/// Rows are read and written in vectors of 16 bytes.
template <typename T>
constexpr int vector_width = 16 / static_cast<int>(sizeof(T));

template <typename T>
struct alignas(16) Vector {
  T values[vector_width<T>];
};

/// The columns of `row` that begin at `first`; 0 past the last column, which nobody has written.
template <typename T>
__device__ Vector<T> load_vector(const T* row, std::int64_t first, std::int64_t columns) {
  Vector<T> vector;
  if (first + vector_width<T> <= columns) {
    *reinterpret_cast<uint4*>(&vector) = *reinterpret_cast<const uint4*>(row + first);
  } else {
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      vector.values[i] = first + i < columns ? row[first + i] : from_float<T>(0.0F);
    }
  }
  return vector;
}

template <typename T>
__device__ void store_vector(T* row, std::int64_t first, const Vector<T>& vector) {
  *reinterpret_cast<uint4*>(row + first) = *reinterpret_cast<const uint4*>(&vector);
}

/// Which of a vector's columns take part, a bit each. `mask` is the row's, or nullptr.
template <typename T>
__device__ unsigned allowed_columns(const std::uint8_t* mask, std::int64_t first,
                                    std::int64_t columns) {
  constexpr int width = vector_width<T>;
  unsigned allowed = 0;
  const bool whole =
      (reinterpret_cast<std::uintptr_t>(mask) | static_cast<std::uintptr_t>(columns)) % width == 0;
  if (mask != nullptr && whole) {
    using Bytes = std::conditional_t<width == 8, uint2, unsigned>;
    alignas(8) unsigned words[2] = {};
    *reinterpret_cast<Bytes*>(words) = *reinterpret_cast<const Bytes*>(mask + first);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const bool there = (words[i / 4] >> (8 * (i % 4)) & 0xffU) != 0;
      allowed |= static_cast<unsigned>(there) << i;
    }
    return allowed;
  }
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const bool there = first + i < columns && (mask == nullptr || mask[first + i] != 0);
    allowed |= static_cast<unsigned>(there) << i;
  }
  return allowed;
}

constexpr int block_threads = 256;
/// Rows of more are a block's.
constexpr std::int64_t most_columns_of_warp = 1024;

struct RowArguments {
  Scores scores;
  std::byte* values;
  const std::byte* weights;  // backward alone
  float* lse;
  int threads;  // that share a row
};

/// One row of the scores, as its threads see it.
template <typename T>
struct Row {
  const Scores& scores;
  int threads, thread;  // of the row
  std::int64_t index;   // of [items, heads, rows]
  const std::uint8_t* mask = nullptr;

  __device__ explicit Row(const RowArguments& arguments)
      : scores(arguments.scores),
        threads(arguments.threads),
        thread(static_cast<int>(threadIdx.x) % threads),
        index(static_cast<std::int64_t>(blockIdx.x) * (block_threads / threads) +
              static_cast<int>(threadIdx.x) / threads) {
    if (scores.mask == nullptr) return;
    mask = scores.mask +
           ((scores.masks > 1 ? head() * scores.rows : 0) + row_of_item()) * scores.columns;
  }

  [[nodiscard]] __device__ std::int64_t head() const { return index / scores.rows % scores.heads; }
  [[nodiscard]] __device__ std::int64_t row_of_item() const { return index % scores.rows; }

  /// False past the last, for all threads of the row.
  [[nodiscard]] __device__ bool is_there() const {
    return index < scores.items * scores.heads * scores.rows;
  }

  [[nodiscard]] __device__ T* in(std::byte* values) const {
    return reinterpret_cast<T*>(values) + index * scores.stride;
  }
  [[nodiscard]] __device__ const T* in(const std::byte* values) const {
    return reinterpret_cast<const T*>(values) + index * scores.stride;
  }

  /// Calls visit(first column) for each of the thread's vectors.
  template <typename Visit>
  __device__ void for_each(const Visit& visit) const {
    const std::int64_t step = std::int64_t{threads} * vector_width<T>;
    for (std::int64_t column = std::int64_t{thread} * vector_width<T>; column < scores.columns;
         column += step) {
      visit(column);
    }
  }

  /// The vector at `column`; 0 past the last column.
  [[nodiscard]] __device__ Vector<T> load(const T* values, std::int64_t column) const {
    return load_vector(values, column, scores.columns);
  }
  /// The same with `refused` where the mask refuses, and past the last column.
  [[nodiscard]] __device__ Vector<T> load_allowed(const T* values, std::int64_t column,
                                                  float refused) const {
    Vector<T> vector = load(values, column);
    const unsigned allowed = allowed_columns<T>(mask, column, scores.columns);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      if ((allowed >> i & 1U) == 0) vector.values[i] = from_float<T>(refused);
    }
    return vector;
  }

  /// One value from all threads of the row. `shared`: a float for each of the block's warps that
  /// nothing else uses in this launch.
  [[nodiscard]] __device__ float largest(float value, float* shared) const {
    return over_warps(largest_of_lanes(value), shared,
                      [](float a, float b) { return fmaxf(a, b); });
  }
  [[nodiscard]] __device__ float sum(float value, float* shared) const {
    return over_warps(sum_of_lanes(value), shared, [](float a, float b) { return a + b; });
  }

 private:
  template <typename Operation>
  [[nodiscard]] __device__ float over_warps(float value, float* shared,
                                            const Operation& operation) const {
    if (threads == 32) return value;
    if (thread % 32 == 0) shared[thread / 32] = value;
    __syncthreads();
    value = shared[0];
    for (int warp = 1; warp < block_threads / 32; ++warp) value = operation(value, shared[warp]);
    return value;
  }
};

template <typename T>
__global__ void __launch_bounds__(block_threads, 5) dense_softmax_kernel(RowArguments arguments) {
  const Row<T> row(arguments);
  if (!row.is_there()) return;
  float* shared = reinterpret_cast<float*>(dynamic_shared());
  T* scores = row.in(arguments.values);

  float highest = minus_infinity;
  row.for_each([&](std::int64_t column) {
    const Vector<T> vector = row.load_allowed(scores, column, minus_infinity);
#pragma unroll
    for (const T value : vector.values) highest = fmaxf(highest, to_float(value));
  });
  highest = row.largest(highest, shared);
  const bool empty = highest == minus_infinity;
  const float shift = empty ? 0.0F : highest * log2_e;

  float sum = 0.0F;
  row.for_each([&](std::int64_t column) {
    const Vector<T> vector = row.load_allowed(scores, column, minus_infinity);
#pragma unroll
    for (const T value : vector.values) sum += exp2_approx(fmaf(to_float(value), log2_e, -shift));
  });
  sum = row.sum(sum, shared + block_threads / 32);

  const float factor = inverse_of(sum);
  row.for_each([&](std::int64_t column) {
    Vector<T> vector = row.load_allowed(scores, column, minus_infinity);
#pragma unroll
    for (T& value : vector.values) {
      value = from_float<T>(exp2_approx(fmaf(to_float(value), log2_e, -shift)) * factor);
    }
    store_vector(scores, column, vector);
  });
  if (arguments.lse == nullptr || row.thread != 0) return;
  const Scores& of = arguments.scores;
  const std::int64_t item = row.index / (of.heads * of.rows);
  arguments.lse[(item * of.rows + row.row_of_item()) * of.heads + row.head()] =
      empty ? minus_infinity : highest + logf(sum);
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    dense_softmax_backward_kernel(RowArguments arguments) {
  const Row<T> row(arguments);
  if (!row.is_there()) return;
  const T* weights = row.in(arguments.weights);
  T* gradients = row.in(arguments.values);

  float sum = 0.0F;
  row.for_each([&](std::int64_t column) {
    const Vector<T> p = row.load(weights, column), g = row.load(gradients, column);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      sum = fmaf(to_float(p.values[i]), to_float(g.values[i]), sum);
    }
  });
  sum = row.sum(sum, reinterpret_cast<float*>(dynamic_shared()));
  row.for_each([&](std::int64_t column) {
    const Vector<T> p = row.load(weights, column);
    Vector<T> g = row.load(gradients, column);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      // Where the weight is 0, as where the mask refuses, whatever stands in the gradient stays
      // out.
      const float weight = to_float(p.values[i]);
      g.values[i] = from_float<T>(weight == 0.0F ? 0.0F : weight * (to_float(g.values[i]) - sum));
    }
    store_vector(gradients, column, g);
  });
}

template <typename T>
__global__ void __launch_bounds__(block_threads) dense_mask_kernel(RowArguments arguments) {
  const Row<T> row(arguments);
  if (!row.is_there()) return;
  T* values = row.in(arguments.values);
  row.for_each([&](std::int64_t column) {
    store_vector(values, column, row.load_allowed(values, column, 0.0F));
  });
}

Status launch_rows(const char* name, void (*kernel)(RowArguments), RowArguments arguments,
                   Stream stream) {
  const Scores& scores = arguments.scores;
  arguments.threads = scores.columns <= most_columns_of_warp ? 32 : block_threads;
  const std::int64_t rows = scores.items * scores.heads * scores.rows;
  const std::int64_t rows_of_block = block_threads / arguments.threads;
  constexpr std::int64_t shared_bytes = 2 * block_threads / 32 * std::int64_t{sizeof(float)};
  return launch(name, kernel,
                {(rows + rows_of_block - 1) / rows_of_block, block_threads, shared_bytes}, stream,
                arguments);
}

}  // namespace

Status softmax_forward(const Scores& scores, std::byte* values, float* lse, Stream stream) {
  return with_type(scores.dtype, [&](auto type) {
    return launch_rows("softmax_forward", dense_softmax_kernel<typename NumberOf<type()>::T>,
                       {scores, values, nullptr, lse, 0}, stream);
  });
}

Status softmax_backward(const Scores& scores, const std::byte* weights, std::byte* gradients,
                        Stream stream) {
  return with_type(scores.dtype, [&](auto type) {
    return launch_rows("softmax_backward",
                       dense_softmax_backward_kernel<typename NumberOf<type()>::T>,
                       {scores, gradients, weights, nullptr, 0}, stream);
  });
}

Status apply_mask(const Scores& scores, std::byte* values, Stream stream) {
  if (scores.mask == nullptr) return {};
  return with_type(scores.dtype, [&](auto type) {
    return launch_rows("apply_mask", dense_mask_kernel<typename NumberOf<type()>::T>,
                       {scores, values, nullptr, nullptr, 0}, stream);
  });
}

}  // namespace attnscope::cuda
