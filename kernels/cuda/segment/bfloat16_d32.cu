// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment/segment_kernels.cuh"

namespace attnscope::cuda {
SegmentKernels bfloat16_d32() {
  return segment_kernels<__nv_bfloat16, 32>();
}
}  // namespace attnscope::cuda
