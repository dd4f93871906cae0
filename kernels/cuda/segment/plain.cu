// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.h"
#include "kernels/cuda/segment/plain.cuh"

namespace attnscope::cuda {
namespace {

LaunchShape shape_of(const UnitArguments& call) {
  return {std::int64_t{call.units} * call.heads_per_unit, 32 * plain_warps,
          std::int64_t{plain_warps * PlainRow::shared_floats(call.head_dim)} *
              std::int64_t{sizeof(float)}};
}

template <typename T>
Status launch_forward(const ForwardArguments& arguments, Stream stream) {
  return launch("segment_forward", segment_forward_kernel<T>, shape_of(arguments), stream,
                arguments);
}

template <typename T>
Status launch_backward(const BackwardArguments& arguments, Standing what, Stream stream) {
  const auto kernel =
      what == Standing::keys ? segment_backward_kernel<T, true> : segment_backward_kernel<T, false>;
  return launch("segment_backward", kernel, shape_of(arguments), stream, arguments);
}

}  // namespace

template <DType type>
PlainKernels plain_kernels() {
  using T = typename NumberOf<type>::T;
  return {launch_forward<T>, launch_backward<T>};
}

template PlainKernels plain_kernels<DType::float32>();
template PlainKernels plain_kernels<DType::float16>();
template PlainKernels plain_kernels<DType::bfloat16>();

}  // namespace attnscope::cuda
