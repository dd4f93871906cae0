// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment/segment_kernels.cuh"

namespace attnscope::cuda {
SegmentKernels float32_d64() {
  return segment_kernels<float, 64>();
}
}  // namespace attnscope::cuda
