#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The launches of one head-dimension class and type; a .cu file each instantiates them, so that
// they compile side by side.

#include "kernels/cuda/segment/backward.cuh"
#include "kernels/cuda/segment/forward.cuh"
#include "kernels/cuda/segment/row_dots.cuh"

namespace attnscope::cuda {

template <typename T, int Columns>
Status launch_forward(const ForwardArguments& arguments, std::int64_t units, int warps,
                      Stream stream) {
  return launch("segment_forward", segment_forward_kernel<T, Columns>,
                {units * arguments.units.heads_per_unit, 32 * warps,
                 shared_bytes<T, Columns, false>(warps, 1)},
                stream, arguments);
}

template <typename T, int Columns>
Status launch_row_dots(const RowDotArguments& arguments, Stream stream) {
  constexpr int rows = RowDotShape<T, Columns>::rows_per_block;
  return launch("segment_backward (row dots)", row_dots_kernel<T, Columns>,
                {(arguments.rows + rows - 1) / rows, row_dot_threads, 0}, stream, arguments);
}

template <typename T, int Columns>
Status launch_backward(const BackwardArguments& arguments, std::int64_t units, int warps,
                       Stream stream) {
  constexpr int column_parts = Columns / kept_columns<T, Columns>;
  return launch("segment_backward", segment_backward_kernel<T, Columns>,
                {units * arguments.units.heads_per_unit * column_parts, 32 * warps,
                 shared_bytes<T, Columns, true>(warps, 2)},
                stream, arguments);
}

template <DType type, int Columns>
SegmentKernels segment_kernels() {
  using T = typename NumberOf<type>::T;
  return {launch_forward<T, Columns>, launch_row_dots<T, Columns>, launch_backward<T, Columns>};
}

}  // namespace attnscope::cuda
