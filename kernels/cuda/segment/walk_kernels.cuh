#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The launches of walks of one head dimension and type; each is instantiated in a separate .cu
// file, so that they compile in parallel.

#include "kernels/cuda/segment/broad_walk.cuh"
#include "kernels/cuda/segment/walk.cuh"
#include "kernels/cuda/segment/walk_backward.cuh"

namespace attnscope::cuda {

/// A warp for each walk and head (OwnWalk).
inline LaunchShape walks_shape(const WalkArguments& call, bool by_head) {
  const std::int64_t warps = by_head ? call.walks : std::int64_t{call.walks} * call.heads;
  const std::int64_t blocks = (warps + walk_warps - 1) / walk_warps;
  return {by_head ? blocks * call.heads : blocks, 32 * walk_warps, 0};
}
inline LaunchShape merges_shape(const WalkArguments& call) {
  const std::int64_t rows = std::int64_t{call.merges} * call.widest_merge;
  return {(rows * call.heads + walk_warps - 1) / walk_warps, 32 * walk_warps, 0};
}

template <typename T, int Columns>
Status launch_walks(const ForwardWalkArguments& arguments, WalkShape shape, Stream stream) {
  auto* kernel = segment_walk_kernel<T, Columns, false, false>;
  if (shape.broad) {
    kernel = shape.many ? segment_broad_walk_kernel<T, Columns, true>
                        : segment_broad_walk_kernel<T, Columns, false>;
  } else if (shape.far && !shape.many) {
    kernel = segment_walk_kernel<T, Columns, true, false>;
  } else if (!shape.far && shape.many) {
    kernel = segment_walk_kernel<T, Columns, false, true>;
  } else if (shape.far) {
    if constexpr (has_walks(Columns, DType::float16, {.far = true, .many = true}))
      kernel = segment_walk_kernel<T, Columns, true, true>;
  }
  const char* name = shape.broad ? "segment_forward (broad walks)" : "segment_forward (walks)";
  const Status s = launch(name, kernel, walks_shape(arguments, shape.broad), stream, arguments);
  if (!s) return s;
  return launch("segment_forward (merges)", merge_walks_kernel<T>, merges_shape(arguments), stream,
                arguments);
}

template <typename T, int Columns, Sums sums>
Status launch_backward_walks(const BackwardWalkArguments& arguments, Stream stream) {
  LaunchShape shape = walks_shape(arguments, arguments.by_head);
  shape.shared_bytes = std::int64_t{walk_warps} * kept_by_warp<Columns, sums>;
  auto* const kernel = segment_backward_walk_kernel<T, Columns, sums>;
  const Status s = launch("segment_backward (walks)", kernel, shape, stream, arguments);
  if (!s) return s;
  return launch("segment_backward (merges)", merge_backward_walks_kernel<T, sums>,
                merges_shape(arguments), stream, arguments);
}

template <typename T, int Columns>
Status launch_backward_walks(const BackwardWalkArguments& arguments, Standing what, Stream stream) {
  if (what == Standing::rows)
    return launch_backward_walks<T, Columns, Sums::queries>(arguments, stream);
  if constexpr (Columns <= most_columns_of_both) {
    return launch_backward_walks<T, Columns, Sums::keys_and_values>(arguments, stream);
  } else {
    if (Status s = launch_backward_walks<T, Columns, Sums::keys>(arguments, stream); !s) return s;
    return launch_backward_walks<T, Columns, Sums::values>(arguments, stream);
  }
}

template <DType type, int Columns>
WalkKernels walk_kernels() {
  using T = typename NumberOf<type>::T;
  return {launch_walks<T, Columns>, launch_backward_walks<T, Columns>};
}

}  // namespace attnscope::cuda
