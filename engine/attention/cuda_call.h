#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Calls into the CUDA runtime for code that reports errors as exceptions: a failing call throws
// std::runtime_error with the call, the file and the line. Nothing is synchronised. For builds with
// CUDA only.
//
//   ATTNSCOPE_CUDA_OR_THROW(cudaEventRecord(event, stream));

#include <cuda_runtime_api.h>

#include <stdexcept>

#include "kernels/cuda/operands.h"

namespace attnscope::cuda {

inline void check_call(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which a later call must not see
  throw std::runtime_error(
      failed_call(call, file, line, cudaGetErrorString(error), cudaGetErrorName(error))
          .error()
          .message);
}

}  // namespace attnscope::cuda

#define ATTNSCOPE_CUDA_OR_THROW(call) \
  ::attnscope::cuda::check_call((call), #call, __FILE__, __LINE__)
