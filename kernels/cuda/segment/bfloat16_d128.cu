// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment/segment_kernels.cuh"

namespace attnscope::cuda {
SegmentKernels bfloat16_d128() {
  return segment_kernels<__nv_bfloat16, 128>();
}
}  // namespace attnscope::cuda
