// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment/segment_kernels.cuh"

namespace attnscope::cuda {
SegmentKernels float16_d256() {
  return segment_kernels<__half, 256>();
}
}  // namespace attnscope::cuda
