#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The launches of one head-dimension class and type; a .cu file each instantiates them, so that
// they compile side by side.

#include "kernels/cuda/segment/backward.cuh"
#include "kernels/cuda/segment/broad_walk.cuh"
#include "kernels/cuda/segment/forward.cuh"
#include "kernels/cuda/segment/row_dots.cuh"
#include "kernels/cuda/segment/walk.cuh"
#include "kernels/cuda/segment/walk_backward.cuh"

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

template <typename T, int Columns, bool Far, bool Many>
Status launch_walks(const WalkArguments& arguments, Stream stream) {
  const std::int64_t warps = std::int64_t{arguments.walks} * arguments.heads;
  return launch("segment_forward (walks)", segment_walk_kernel<T, Columns, Far, Many>,
                {(warps + walk_warps - 1) / walk_warps, 32 * walk_warps, 0}, stream, arguments);
}

template <typename T, int Columns, bool Many>
Status launch_broad_walks(const WalkArguments& arguments, Stream stream) {
  const std::int64_t warps = std::int64_t{arguments.walks} * arguments.heads;
  return launch("segment_forward (broad walks)", segment_broad_walk_kernel<T, Columns, Many>,
                {(warps + broad_warps - 1) / broad_warps, 32 * broad_warps, 0}, stream, arguments);
}

template <typename T, int Columns>
Status launch_walks(const WalkArguments& arguments, WalkShape shape, Stream stream) {
  if (shape.broad) {
    return shape.many ? launch_broad_walks<T, Columns, true>(arguments, stream)
                      : launch_broad_walks<T, Columns, false>(arguments, stream);
  }
  if (!shape.far && !shape.many) return launch_walks<T, Columns, false, false>(arguments, stream);
  if (!shape.far) return launch_walks<T, Columns, false, true>(arguments, stream);
  if (!shape.many) return launch_walks<T, Columns, true, false>(arguments, stream);
  if constexpr (Columns == 32) return launch_walks<T, 32, true, true>(arguments, stream);
  return {};  // has_walks
}

template <typename T, int Columns>
Status launch_walks_and_merges(const WalkArguments& arguments, WalkShape shape, Stream stream) {
  if (Status s = launch_walks<T, Columns>(arguments, shape, stream); !s) return s;
  const std::int64_t warps =
      std::int64_t{arguments.merges} * arguments.widest_merge * arguments.heads;
  return launch("segment_forward (merges)", merge_walks_kernel<T>,
                {(warps + walk_warps - 1) / walk_warps, 32 * walk_warps, 0}, stream, arguments);
}

template <typename T, int Columns, bool Keys>
Status launch_backward_walks(const BackwardWalkArguments& arguments, bool far, Stream stream) {
  const WalkArguments& walk = arguments.walk;
  const auto shape_of = [](std::int64_t warps) {
    return LaunchShape{(warps + walk_warps - 1) / walk_warps, 32 * walk_warps, 0};
  };
  const auto kernel = far ? segment_backward_walk_kernel<T, Columns, Keys, true>
                          : segment_backward_walk_kernel<T, Columns, Keys, false>;
  if (Status s = launch("segment_backward (walks)", kernel,
                        shape_of(std::int64_t{walk.walks} * walk.heads), stream, arguments);
      !s) {
    return s;
  }
  return launch("segment_backward (merges)", merge_backward_walks_kernel<T, walk_gradients<Keys>>,
                shape_of(std::int64_t{walk.merges} * walk.widest_merge * walk.heads), stream,
                arguments);
}

template <typename T, int Columns>
Status launch_backward_walks(const BackwardWalkArguments& arguments, UnitKind kind, WalkShape shape,
                             Stream stream) {
  return kind == UnitKind::keys
             ? launch_backward_walks<T, Columns, true>(arguments, shape.far, stream)
             : launch_backward_walks<T, Columns, false>(arguments, shape.far, stream);
}

template <DType type, int Columns>
SegmentKernels segment_kernels() {
  using T = typename NumberOf<type>::T;
  SegmentKernels kernels{launch_forward<T, Columns>, launch_row_dots<T, Columns>,
                         launch_backward<T, Columns>};
  if constexpr (sizeof(T) == 2 && (Columns == 32 || Columns == 64)) {
    kernels.walk = launch_walks_and_merges<T, Columns>;
  }
  if constexpr (has_backward_walks(Columns, type)) {
    kernels.walk_backward = launch_backward_walks<T, Columns>;
  }
  return kernels;
}

}  // namespace attnscope::cuda
