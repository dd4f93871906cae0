// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment/segment_kernels.cuh"

namespace attnscope::cuda {
SegmentKernels float16_d128() {
  return segment_kernels<__half, 128>();
}
}  // namespace attnscope::cuda
