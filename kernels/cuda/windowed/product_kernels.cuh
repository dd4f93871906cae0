#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Instantiates the products for one type and class of head dimensions; rows of 256 are summed as
// two parts of 128.

#include "kernels/cuda/launch.h"
#include "kernels/cuda/windowed/keys.cuh"
#include "kernels/cuda/windowed/scores.cuh"
#include "kernels/cuda/windowed/values.cuh"

namespace attnscope::cuda::windowed {

template <DType type, int dim>
Status launch_scores(const ProductArguments& arguments, std::int64_t blocks, Stream stream) {
  using T = typename NumberOf<type>::T;
  constexpr int rows = tile_rows(dim, type);
  return launch("windowed scores", scores_kernel<T, dim, rows>,
                {blocks, block_threads, scores_shared<T, dim, rows>}, stream, arguments);
}

template <DType type, int dim>
Status launch_values(const ProductArguments& arguments, std::int64_t blocks, Stream stream) {
  using T = typename NumberOf<type>::T;
  return launch("windowed values", values_kernel<T, dim>,
                {blocks, block_threads, values_shared<T, dim>}, stream, arguments);
}

template <DType type, int dim>
Status launch_keys(const ProductArguments& arguments, std::int64_t blocks, Stream stream) {
  using T = typename NumberOf<type>::T;
  return launch("windowed keys", keys_kernel<T, dim>, {blocks, block_threads, keys_shared<T, dim>},
                stream, arguments);
}

#define ATTNSCOPE_WINDOWED_SCORES(type, dim) \
  template Status launch_scores<type, dim>(const ProductArguments&, std::int64_t, Stream);

#define ATTNSCOPE_WINDOWED_SUMS(type, dim)                                                 \
  template Status launch_values<type, dim>(const ProductArguments&, std::int64_t, Stream); \
  template Status launch_keys<type, dim>(const ProductArguments&, std::int64_t, Stream);

}  // namespace attnscope::cuda::windowed
