#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA devices this process can use, or why there are none. A build with CUDA starts and
// answers on a machine without a driver; a build without CUDA answers too.
//
//   CudaDevices found = cuda_devices();
//   if (found.devices.empty()) explain(found.reason);

#include <cstdint>
#include <string>
#include <vector>

namespace attnscope {

struct CudaDevice {
  std::string name;
  int compute_major = 0, compute_minor = 0;
  std::int64_t memory_bytes = 0;
  int driver_version = 0;  // as CUDA counts it: 13000 is 13.0
  std::string uuid = {};   // "GPU-" and 32 hexadecimal digits: the board, whatever is visible
};

struct CudaDevices {
  std::vector<CudaDevice> devices;
  std::string reason;  // one sentence when there are none
};

[[nodiscard]] CudaDevices cuda_devices();

}  // namespace attnscope
