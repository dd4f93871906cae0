#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The launches of walks of one head dimension and type; a .cu file each instantiates them, so that
// they compile side by side.

#include "kernels/cuda/segment/broad_walk.cuh"
#include "kernels/cuda/segment/walk.cuh"
#include "kernels/cuda/segment/walk_backward.cuh"

namespace attnscope::cuda {

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
                {(warps + walk_warps - 1) / walk_warps, 32 * walk_warps, 0}, stream, arguments);
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

template <typename T, int Columns, Sums sums>
Status launch_backward_walks(const BackwardWalkArguments& arguments, WalkShape shape,
                             Stream stream) {
  const WalkArguments& walk = arguments.walk;
  const auto shape_of = [](std::int64_t warps) {
    return LaunchShape{(warps + walk_warps - 1) / walk_warps, 32 * walk_warps, 0};
  };
  auto* kernel = segment_backward_walk_kernel<T, Columns, sums, Reach::broad>;
  if constexpr (Columns == 32) {
    if (!shape.broad) {
      kernel = shape.far ? segment_backward_walk_kernel<T, Columns, sums, Reach::far>
                         : segment_backward_walk_kernel<T, Columns, sums, Reach::narrow>;
    }
  }
  if (Status s = launch("segment_backward (walks)", kernel,
                        shape_of(std::int64_t{walk.walks} * walk.heads), stream, arguments);
      !s) {
    return s;
  }
  return launch("segment_backward (merges)", merge_backward_walks_kernel<T, sums>,
                shape_of(std::int64_t{walk.merges} * walk.widest_merge * walk.heads), stream,
                arguments);
}

template <typename T, int Columns>
Status launch_backward_walks(const BackwardWalkArguments& arguments, Standing what, WalkShape shape,
                             Stream stream) {
  if (what == Standing::rows)
    return launch_backward_walks<T, Columns, Sums::queries>(arguments, shape, stream);
  if constexpr (Columns == 32) {
    return launch_backward_walks<T, Columns, Sums::keys_and_values>(arguments, shape, stream);
  } else {
    if (Status s = launch_backward_walks<T, Columns, Sums::keys>(arguments, shape, stream); !s)
      return s;
    BackwardWalkArguments of_values = arguments;
    of_values.gradients[0] = arguments.gradients[1];
    return launch_backward_walks<T, Columns, Sums::values>(of_values, shape, stream);
  }
}

template <DType type, int Columns>
WalkKernels walk_kernels() {
  using T = typename NumberOf<type>::T;
  return {launch_walks_and_merges<T, Columns>, launch_backward_walks<T, Columns>};
}

}  // namespace attnscope::cuda
