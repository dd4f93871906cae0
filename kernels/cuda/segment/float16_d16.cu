// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment/segment_kernels.cuh"

namespace attnscope::cuda {
SegmentKernels float16_d16() {
  return segment_kernels<__half, 16>();
}
}  // namespace attnscope::cuda
