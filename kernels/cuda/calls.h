#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Checked calls into the CUDA runtime. An error is a Status that names the call, the file and the
// line; nothing is thrown, printed or synchronised. Included by .cu files only; an emulation of the
// device provides the toolkit's headers itself.
//
//   ATTNSCOPE_CUDA(cudaMemsetAsync(counters, 0, bytes, stream));  // returns the Status on failure

#include <cuda_runtime.h>

#include <utility>

#include "base/result.h"
#include "kernels/cuda/operands.h"

namespace attnscope::cuda {

[[nodiscard]] inline Status checked(cudaError_t error, const char* call, const char* file,
                                    int line) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // clears the error, which a later call must not see
  return failed_call(call, file, line, cudaGetErrorString(error), cudaGetErrorName(error));
}

#define ATTNSCOPE_CUDA(call)                                                                      \
  if (::attnscope::Status status = ::attnscope::cuda::checked((call), #call, __FILE__, __LINE__); \
      !status)                                                                                    \
  return ::tl::unexpected<::attnscope::Error>(std::move(status.error()))

}  // namespace attnscope::cuda
