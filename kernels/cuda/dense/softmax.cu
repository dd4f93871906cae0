// SPDX-License-Identifier: Apache-2.0
//
// A row is a warp's up to 1024 columns, above that a block's. Its vectors are dealt round: vector j
// of thread t begins at column (j * Threads + t) * width. Up to Threads * Vectors vectors stay in
// registers between the passes; with Vectors = 0 every pass reads them again.

#include "kernels/cuda/dense/score_rows.cuh"
#include "kernels/cuda/dense/softmax.h"
#include "kernels/cuda/launch.h"

namespace attnscope::cuda {
namespace {

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
  const char* name = "softmax_forward";
  if (columns <= 256) {
    return launch_rows(name, dense_softmax_kernel<T, 32, 8 / width>, 32, arguments, stream);
  }
  if (columns <= 1024) {
    return launch_rows(name, dense_softmax_kernel<T, 32, 32 / width>, 32, arguments, stream);
  }
  if (columns <= 4096) {
    return launch_rows(name, dense_softmax_kernel<T, 256, 16 / width>, 256, arguments, stream);
  }
  if (columns <= 8192) {
    return launch_rows(name, dense_softmax_kernel<T, 256, 32 / width>, 256, arguments, stream);
  }
  return launch_rows(name, dense_softmax_kernel<T, 256, 0>, 256, arguments, stream);
}

template <typename T>
Status backward_of(const RowArguments& arguments, Stream stream) {
  constexpr int width = vector_width<T>;
  const std::int64_t columns = arguments.scores.columns;
  const char* name = "softmax_backward";
  if (columns <= 256) {
    return launch_rows(name, dense_softmax_backward_kernel<T, 32, 8 / width>, 32, arguments,
                       stream);
  }
  if (columns <= 1024) {
    return launch_rows(name, dense_softmax_backward_kernel<T, 32, 32 / width>, 32, arguments,
                       stream);
  }
  if (columns <= 4096) {
    return launch_rows(name, dense_softmax_backward_kernel<T, 256, 16 / width>, 256, arguments,
                       stream);
  }
  return launch_rows(name, dense_softmax_backward_kernel<T, 256, 0>, 256, arguments, stream);
}

template <typename T>
Status mask_of(const RowArguments& arguments, Stream stream) {
  return launch_rows("apply_mask", dense_mask_kernel<T, 32, 0>, 32, arguments, stream);
}

}  // namespace

Status softmax_forward(const Scores& scores, std::byte* values, float* lse, Stream stream) {
  const RowArguments arguments = {scores, values, nullptr, lse};
  switch (scores.dtype) {
    case DType::float16:
      return forward_of<__half>(arguments, stream);
    case DType::bfloat16:
      return forward_of<__nv_bfloat16>(arguments, stream);
    case DType::float32:
      break;
  }
  return forward_of<float>(arguments, stream);
}

Status softmax_backward(const Scores& scores, const std::byte* weights, std::byte* gradients,
                        Stream stream) {
  const RowArguments arguments = {scores, gradients, weights, nullptr};
  switch (scores.dtype) {
    case DType::float16:
      return backward_of<__half>(arguments, stream);
    case DType::bfloat16:
      return backward_of<__nv_bfloat16>(arguments, stream);
    case DType::float32:
      break;
  }
  return backward_of<float>(arguments, stream);
}

Status apply_mask(const Scores& scores, std::byte* values, Stream stream) {
  if (scores.mask == nullptr) return {};
  const RowArguments arguments = {scores, values, nullptr, nullptr};
  switch (scores.dtype) {
    case DType::float16:
      return mask_of<__half>(arguments, stream);
    case DType::bfloat16:
      return mask_of<__nv_bfloat16>(arguments, stream);
    case DType::float32:
      break;
  }
  return mask_of<float>(arguments, stream);
}

}  // namespace attnscope::cuda
