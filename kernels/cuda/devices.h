#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA devices that this process can use, or why there are none. Works in a build with CUDA on
// a machine without a driver, and in a build without CUDA. And CUDA streams.
//
//   CudaDevices found = cuda_devices();
//   if (found.devices.empty()) explain(found.reason);

#include <cstdint>
#include <string>
#include <vector>

struct CUstream_st;

namespace attnscope {

namespace cuda {
/// cudaStream_t by its declared name, so that callers that are not compiled for CUDA need none of
/// its headers. nullptr is the legacy default stream.
using Stream = CUstream_st*;
}  // namespace cuda

struct CudaDevice {
  std::string name;
  int compute_major = 0, compute_minor = 0;
  std::int64_t memory_bytes = 0;
  int driver_version = 0;  // in CUDA's encoding: 13000 is 13.0
  std::string uuid = {};   // "GPU-" and 32 hexadecimal digits: identifies the board, independent of
                           // visibility
};

struct CudaDevices {
  std::vector<CudaDevice> devices;
  std::string reason;  // one sentence if there are none
};

[[nodiscard]] CudaDevices cuda_devices();

}  // namespace attnscope
