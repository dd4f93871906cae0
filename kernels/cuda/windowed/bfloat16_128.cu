// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/windowed/product_kernels.cuh"

namespace attnscope::cuda::windowed {
ATTNSCOPE_WINDOWED_PRODUCTS(DType::bfloat16, 128)
}  // namespace attnscope::cuda::windowed
