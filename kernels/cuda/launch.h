#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Checked calls into the CUDA runtime. An error is a Status that names the call, the file and the
// line; nothing is thrown, printed or synchronised. Included by .cu files only. An emulation of the
// device provides the toolkit's headers itself and defines ATTNSCOPE_CUDA_ON_HOST.
//
//   ATTNSCOPE_CUDA(cudaMemsetAsync(counters, 0, bytes, stream));  // returns the Status on failure
//   return launch("segment_forward", kernel, {blocks, threads, shared_bytes}, stream, arguments);

#include <cuda_runtime.h>

#include <cstdint>

#include "base/result.h"
#include "kernels/cuda/operands.h"

namespace attnscope::cuda {

struct LaunchShape {
  std::int64_t blocks = 0;
  int threads = 0;
  std::int64_t shared_bytes = 0;  // dynamic shared memory of a block, at most 48 KiB
};

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

/// Queues `kernel`, a __global__ function of one argument, on `stream` (the emulation runs it).
template <typename Argument>
[[nodiscard]] Status launch(const char* name, void (*kernel)(Argument), const LaunchShape& shape,
                            cudaStream_t stream, Argument argument) {
  constexpr std::int64_t most_blocks = 0x7fffffff;
  if (shape.blocks == 0) return {};
  if (shape.blocks > most_blocks) return too_many_blocks(name, shape.blocks, most_blocks);
#ifdef ATTNSCOPE_CUDA_ON_HOST
  static_cast<void>(stream);
  return on_host::run(
      {name, reinterpret_cast<const void*>(kernel)}, [kernel, argument] { kernel(argument); },
      shape.blocks, shape.threads, shape.shared_bytes);
#else
  void* arguments[] = {&argument};
  return checked(cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                                  dim3(static_cast<unsigned>(shape.blocks)),
                                  dim3(static_cast<unsigned>(shape.threads)), arguments,
                                  static_cast<std::size_t>(shape.shared_bytes), stream),
                 name, __FILE__, __LINE__);
#endif
}

}  // namespace attnscope::cuda
