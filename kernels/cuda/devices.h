#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA devices that this process can use, or why there are none. Works in a build with CUDA on
// a machine without a driver, and in a build without CUDA. Also CUDA streams, and the device's
// clock for algorithm selection by timing, of which the emulation has its own version.
//
//   CudaDevices found = cuda_devices();
//   if (found.devices.empty()) explain(found.reason);

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

struct CUstream_st;

namespace attnscope {

namespace cuda {
/// cudaStream_t by its declared name, so that callers that are not compiled for CUDA need none of
/// its headers. nullptr is the legacy default stream.
using Stream = CUstream_st*;

/// Device time between two events around the work that `work` queues on the stream, in nanoseconds.
/// Synchronises. Errors: those of `work` and of its queued work; the stream is being captured into
/// a graph, so it cannot be synchronised.
[[nodiscard]] Result<double> device_time_ns(Stream stream, const std::function<Status()>& work);

/// The number of the current device.
[[nodiscard]] Result<int> current_device();
/// The number of its multiprocessors; 132, as an H200 has, if it is not known.
[[nodiscard]] std::int32_t multiprocessors();

struct LaunchShape {
  std::int64_t blocks = 0;
  int threads = 0;
  std::int64_t shared_bytes = 0;  // dynamic shared memory of a block
};

/// Ok, or a sentence that names the device, what it has and what the launch needs, by the current
/// device's own limits. Kernels use no more shared memory than a device gives without being asked.
[[nodiscard]] Status fits_device(const char* name, const LaunchShape& shape);

/// With ATTNSCOPE_CUDA_SYNC=1 waits for the launch that was just queued and returns its error;
/// otherwise, and while the stream is captured into a graph, does nothing.
[[nodiscard]] Status finish_launch(const char* name, Stream stream);
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
  /// What the kernels are compiled for, as CMake's list "80-real,90"; empty: nothing is known.
  std::string architectures = {};
};

[[nodiscard]] CudaDevices cuda_devices();

}  // namespace attnscope
