// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/windowed/product_kernels.cuh"

namespace attnscope::cuda::windowed {
ATTNSCOPE_WINDOWED_SCORES(DType::bfloat16, 256)
}  // namespace attnscope::cuda::windowed
