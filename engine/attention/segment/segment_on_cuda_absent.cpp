// SPDX-License-Identifier: Apache-2.0
//
// Builds that cannot compute on CUDA: such problems are declined before they are prepared.
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/segment/segment_on_cuda.h"

namespace attnscope {

Status segment_on_cuda_supports(const Problem&) {
  return cuda::usable();
}

Result<std::unique_ptr<PreparedAttention>> prepare_segment_on_cuda(const Problem&) {
  return tl::unexpected(cuda::usable().error());
}

}  // namespace attnscope
