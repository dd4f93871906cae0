// SPDX-License-Identifier: Apache-2.0
//
// Builds that cannot compute on CUDA: such problems are declined before they are prepared.
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/longformer_banded/on_cuda.h"

namespace attnscope::longformer_banded {

Status supported_on_cuda(const Problem&) {
  return cuda::usable();
}

Result<std::unique_ptr<PreparedAttention>> prepare_on_cuda(const Problem&) {
  return tl::unexpected(cuda::usable().error());
}

}  // namespace attnscope::longformer_banded
