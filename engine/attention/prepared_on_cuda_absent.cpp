// SPDX-License-Identifier: Apache-2.0
//
// Builds that cannot compute on CUDA: implementations decline such problems before they are
// prepared, with the reason of cuda::usable().
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/dense/dense_on_cuda.h"
#include "engine/attention/segment/segment_on_cuda.h"
#include "engine/attention/windowed/windowed_on_cuda.h"

namespace attnscope {

Status segment_on_cuda_supports(const Problem&) {
  return cuda::usable();
}

Status windowed_on_cuda_supports(const Problem&) {
  return cuda::usable();
}

Result<std::unique_ptr<PreparedAttention>> prepare_segment_on_cuda(const Problem&) {
  return tl::unexpected(cuda::usable().error());
}

Result<std::unique_ptr<PreparedAttention>> prepare_windowed_on_cuda(const Problem&) {
  return tl::unexpected(cuda::usable().error());
}

Result<std::unique_ptr<PreparedAttention>> prepare_dense_on_cuda(const Problem&) {
  return tl::unexpected(cuda::usable().error());
}

}  // namespace attnscope
