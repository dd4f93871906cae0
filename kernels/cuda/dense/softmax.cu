// SPDX-License-Identifier: Apache-2.0
//
// A row is a warp's up to 1024 columns, above that a block's. Its vectors are dealt round: vector j
// of thread t begins at column (j * Threads + t) * width. Up to Threads * Vectors vectors stay in
// registers between the passes; with Vectors = 0 every pass reads them again.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/dense/softmax.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operands.h"

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

struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// One value from the `Threads` threads that share a row: a warp's, or a block's through `shared`,
/// Threads / 32 floats that nothing else uses in this launch.
template <int Threads, typename Operation>
__device__ float over_row(float value, Operation operation, float* shared) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = operation(value, __shfl_xor_sync(all_lanes, value, lanes));
  }
  if constexpr (Threads > 32) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread % 32 == 0) shared[thread / 32] = value;
    __syncthreads();
    value = shared[0];
#pragma unroll
    for (int warp = 1; warp < Threads / 32; ++warp) value = operation(value, shared[warp]);
  }
  return value;
}

constexpr int block_threads = 256;

struct RowArguments {
  Scores scores;
  std::byte* values;
  const std::byte* weights;  // backward alone
  float* lse;
};

/// One row of the scores, as its threads see it.
template <typename T, int Threads>
struct Row {
  std::int64_t columns = 0;
  std::int64_t index = -1;  // of [items, heads, rows]; -1: past the last
  std::int64_t first = 0;   // column of this thread's first vector
  const std::uint8_t* mask = nullptr;

  static constexpr std::int64_t step = Threads * vector_width<T>;

  __device__ explicit Row(const Scores& scores) : columns(scores.columns) {
    constexpr int rows_of_block = block_threads / Threads;
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t row =
        static_cast<std::int64_t>(blockIdx.x) * rows_of_block + thread / Threads;
    if (row >= scores.items * scores.heads * scores.rows) return;
    index = row;
    first = static_cast<std::int64_t>(thread % Threads) * vector_width<T>;
    if (scores.mask != nullptr) {
      const std::int64_t head = row / scores.rows % scores.heads;
      const std::int64_t place = (scores.masks > 1 ? head * scores.rows : 0) + row % scores.rows;
      mask = scores.mask + place * columns;
    }
  }

  [[nodiscard]] __device__ unsigned allowed(std::int64_t column) const {
    return allowed_columns<T>(mask, column, columns);
  }
};

/// A row's numbers as they are; columns past the last count 0.
template <typename T, int Threads>
struct AsTheyAre {
  const T* row;
  const Row<T, Threads>& place;
  __device__ Vector<T> operator()(std::int64_t column) const {
    return load_vector(row, column, place.columns);
  }
};

/// The same with -inf where the mask refuses, and past the last column.
template <typename T, int Threads>
struct Masked {
  const T* row;
  const Row<T, Threads>& place;
  __device__ Vector<T> operator()(std::int64_t column) const {
    Vector<T> vector = load_vector(row, column, place.columns);
    const unsigned allowed = place.allowed(column);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      if ((allowed >> i & 1U) == 0) vector.values[i] = from_float<T>(minus_infinity);
    }
    return vector;
  }
};

/// A thread's vectors of a row: in registers, or read each time.
template <typename T, int Threads, int Vectors, typename Load>
struct Held {
  const Row<T, Threads>& place;
  Load load;
  Vector<T> vectors[Vectors > 0 ? Vectors : 1];

  __device__ Held(const Row<T, Threads>& of, const Load& from) : place(of), load(from) {
#pragma unroll
    for (int j = 0; j < Vectors; ++j) {
      const std::int64_t column = place.first + j * place.step;
      if (column < place.columns) vectors[j] = load(column);
    }
  }

  [[nodiscard]] __device__ Vector<T> at(std::int64_t column, int j) const {
    if constexpr (Vectors > 0) {
      return vectors[j];
    } else {
      return load(column);
    }
  }

  /// Calls visit(first column, j) for each of the thread's vectors.
  template <typename Visit>
  __device__ void for_each(const Visit& visit) const {
    if constexpr (Vectors > 0) {
#pragma unroll
      for (int j = 0; j < Vectors; ++j) {
        const std::int64_t column = place.first + j * place.step;
        if (column < place.columns) visit(column, j);
      }
    } else {
      for (std::int64_t column = place.first; column < place.columns; column += place.step) {
        visit(column, 0);
      }
    }
  }
};

__device__ inline void write_lse(const RowArguments& arguments, std::int64_t row, float lse) {
  const Scores& scores = arguments.scores;
  const std::int64_t item = row / (scores.heads * scores.rows);
  const std::int64_t head = row / scores.rows % scores.heads;
  arguments.lse[(item * scores.rows + row % scores.rows) * scores.heads + head] = lse;
}

template <typename T, int Threads, int Vectors>
__global__ void __launch_bounds__(block_threads) dense_softmax_kernel(RowArguments arguments) {
  const Row<T, Threads> place(arguments.scores);
  if (place.index < 0) return;  // all the row's threads: the row is a warp's, or the block's
  float* shared = reinterpret_cast<float*>(dynamic_shared());
  T* row = reinterpret_cast<T*>(arguments.values) + place.index * arguments.scores.stride;
  const Held<T, Threads, Vectors, Masked<T, Threads>> scores(place, {row, place});

  float highest = minus_infinity;
  scores.for_each([&](std::int64_t column, int j) {
    const Vector<T> vector = scores.at(column, j);
#pragma unroll
    for (const T value : vector.values) highest = fmaxf(highest, to_float(value));
  });
  highest = over_row<Threads>(highest, Maximum{}, shared);
  const bool empty = highest == minus_infinity;
  const float shift = empty ? 0.0F : highest * log2_e;

  float sum = 0.0F;
  scores.for_each([&](std::int64_t column, int j) {
    const Vector<T> vector = scores.at(column, j);
#pragma unroll
    for (const T value : vector.values) {
      sum += exp2_approx(fmaf(to_float(value), log2_e, -shift));
    }
  });
  sum = over_row<Threads>(sum, Sum{}, shared + Threads / 32);

  const float factor = empty ? 0.0F : 1.0F / sum;
  scores.for_each([&](std::int64_t column, int j) {
    Vector<T> vector = scores.at(column, j);
#pragma unroll
    for (T& value : vector.values) {
      value = from_float<T>(exp2_approx(fmaf(to_float(value), log2_e, -shift)) * factor);
    }
    store_vector(row, column, vector);
  });
  if (arguments.lse != nullptr && threadIdx.x % Threads == 0) {
    write_lse(arguments, place.index, empty ? minus_infinity : highest + logf(sum));
  }
}

template <typename T, int Threads, int Vectors>
__global__ void __launch_bounds__(block_threads)
    dense_softmax_backward_kernel(RowArguments arguments) {
  using As = AsTheyAre<T, Threads>;
  const Row<T, Threads> place(arguments.scores);
  if (place.index < 0) return;
  float* shared = reinterpret_cast<float*>(dynamic_shared());
  const std::int64_t offset = place.index * arguments.scores.stride;
  T* row = reinterpret_cast<T*>(arguments.values) + offset;
  const Held<T, Threads, Vectors, As> weights(
      place, {reinterpret_cast<const T*>(arguments.weights) + offset, place});
  const Held<T, Threads, Vectors, As> gradients(place, {row, place});

  float sum = 0.0F;
  weights.for_each([&](std::int64_t column, int j) {
    const Vector<T> p = weights.at(column, j);
    const Vector<T> g = gradients.at(column, j);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      sum = fmaf(to_float(p.values[i]), to_float(g.values[i]), sum);
    }
  });
  sum = over_row<Threads>(sum, Sum{}, shared);
  weights.for_each([&](std::int64_t column, int j) {
    const Vector<T> p = weights.at(column, j);
    Vector<T> g = gradients.at(column, j);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      // Where the weight is 0, as where the mask refuses, whatever stands in the gradient stays
      // out.
      const float weight = to_float(p.values[i]);
      g.values[i] = from_float<T>(weight == 0.0F ? 0.0F : weight * (to_float(g.values[i]) - sum));
    }
    store_vector(row, column, g);
  });
}

template <typename T, int Threads, int Vectors>
__global__ void __launch_bounds__(block_threads) dense_mask_kernel(RowArguments arguments) {
  static_assert(Vectors == 0);
  const Row<T, Threads> place(arguments.scores);
  if (place.index < 0) return;
  T* row = reinterpret_cast<T*>(arguments.values) + place.index * arguments.scores.stride;
  for (std::int64_t column = place.first; column < place.columns; column += place.step) {
    const unsigned allowed = place.allowed(column);
    Vector<T> vector = load_vector(row, column, place.columns);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      if ((allowed >> i & 1U) == 0) vector.values[i] = from_float<T>(0.0F);
    }
    store_vector(row, column, vector);
  }
}

Status launch_rows(const char* name, void (*kernel)(RowArguments), int threads,
                   const RowArguments& arguments, Stream stream) {
  const Scores& scores = arguments.scores;
  const std::int64_t rows = scores.items * scores.heads * scores.rows;
  const std::int64_t rows_of_block = block_threads / threads;
  const std::int64_t shared_floats = threads > 32 ? 2 * threads / 32 : 0;
  return launch(name, kernel,
                {(rows + rows_of_block - 1) / rows_of_block, block_threads,
                 shared_floats * static_cast<std::int64_t>(sizeof(float))},
                stream, arguments);
}

template <typename T>
Status forward_of(const RowArguments& arguments, Stream stream) {
  constexpr int width = vector_width<T>;
  const std::int64_t columns = arguments.scores.columns;
  const auto queue = [&](void (*kernel)(RowArguments), int threads) {
    return launch_rows("softmax_forward", kernel, threads, arguments, stream);
  };
  if (columns <= 256) return queue(dense_softmax_kernel<T, 32, 8 / width>, 32);
  if (columns <= 1024) return queue(dense_softmax_kernel<T, 32, 32 / width>, 32);
  if (columns <= 4096) return queue(dense_softmax_kernel<T, 256, 16 / width>, 256);
  if (columns <= 8192) return queue(dense_softmax_kernel<T, 256, 32 / width>, 256);
  return queue(dense_softmax_kernel<T, 256, 0>, 256);
}

template <typename T>
Status backward_of(const RowArguments& arguments, Stream stream) {
  constexpr int width = vector_width<T>;
  const std::int64_t columns = arguments.scores.columns;
  const auto queue = [&](void (*kernel)(RowArguments), int threads) {
    return launch_rows("softmax_backward", kernel, threads, arguments, stream);
  };
  if (columns <= 256) return queue(dense_softmax_backward_kernel<T, 32, 8 / width>, 32);
  if (columns <= 1024) return queue(dense_softmax_backward_kernel<T, 32, 32 / width>, 32);
  if (columns <= 4096) return queue(dense_softmax_backward_kernel<T, 256, 16 / width>, 256);
  return queue(dense_softmax_backward_kernel<T, 256, 0>, 256);
}

}  // namespace

Status softmax_forward(const Scores& scores, std::byte* values, float* lse, Stream stream) {
  return with_type(scores.dtype, [&](auto type) {
    return forward_of<typename NumberOf<type()>::T>({scores, values, nullptr, lse}, stream);
  });
}

Status softmax_backward(const Scores& scores, const std::byte* weights, std::byte* gradients,
                        Stream stream) {
  return with_type(scores.dtype, [&](auto type) {
    return backward_of<typename NumberOf<type()>::T>({scores, gradients, weights, nullptr}, stream);
  });
}

Status apply_mask(const Scores& scores, std::byte* values, Stream stream) {
  if (scores.mask == nullptr) return {};
  return with_type(scores.dtype, [&](auto type) {
    return launch_rows("apply_mask", dense_mask_kernel<typename NumberOf<type()>::T, 32, 0>, 32,
                       {scores, values, nullptr, nullptr}, stream);
  });
}

}  // namespace attnscope::cuda
