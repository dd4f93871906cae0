// SPDX-License-Identifier: Apache-2.0
//
// Builds that cannot compute on CUDA: such problems are declined before they are prepared.
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/dense/dense_on_cuda.h"

namespace attnscope {

Result<std::unique_ptr<PreparedAttention>> prepare_dense_on_cuda(const Problem&) {
  return tl::unexpected(cuda::usable().error());
}

}  // namespace attnscope
