#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Checked launches of kernels: only with ATTNSCOPE_CUDA_SYNC=1 does a launch wait for its kernel.
// Included by .cu files only. An emulation of the device defines ATTNSCOPE_CUDA_ON_HOST.
//
//   return launch("segment_forward", kernel, {blocks, threads, shared_bytes}, stream, arguments);

#include "base/result.h"
#include "kernels/cuda/calls.h"
#include "kernels/cuda/devices.h"

namespace attnscope::cuda {

/// Queues `kernel`, a __global__ function of one argument, on `stream` (the emulation runs it).
template <typename Argument>
[[nodiscard]] Status launch(const char* name, void (*kernel)(Argument), const LaunchShape& shape,
                            cudaStream_t stream, Argument argument) {
  if (shape.blocks == 0) return {};
  if (Status s = fits_device(name, shape); !s) return s;
#ifdef ATTNSCOPE_CUDA_ON_HOST
  const Status queued = on_host::run(
      {name, reinterpret_cast<const void*>(kernel)}, [kernel, argument] { kernel(argument); },
      shape.blocks, shape.threads, shape.shared_bytes);
#else
  void* arguments[] = {&argument};
  const Status queued =
      checked(cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                               dim3(static_cast<unsigned>(shape.blocks)),
                               dim3(static_cast<unsigned>(shape.threads)), arguments,
                               static_cast<std::size_t>(shape.shared_bytes), stream),
              name, __FILE__, __LINE__);
#endif
  return queued ? finish_launch(name, stream) : queued;
}

}  // namespace attnscope::cuda
