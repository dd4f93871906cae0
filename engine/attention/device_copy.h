#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory on a problem's device for memory of the host, so that the same code serves the CPU, where
// both are the same, and CUDA, where it is a copy.
//
//   DeviceCopy o(problem.device, bytes);
//   o.send();  kernel(o.data());  o.fetch();     // on the CPU: kernel(bytes.data())

#include <cstddef>
#include <span>

#include "engine/attention/cuda_runtime.h"
#include "engine/pattern/axes.h"

namespace attnscope {

class DeviceCopy {
 public:
  /// `host` must outlive it.
  DeviceCopy(DeviceKind device, std::span<std::byte> host)
      : host_(host), apart_(device == DeviceKind::cuda && !host.empty()) {
    if (apart_) block_ = cuda::Block(static_cast<std::int64_t>(host.size()));
  }

  [[nodiscard]] std::byte* data() const { return apart_ ? block_.data() : host_.data(); }
  /// Copies the host's memory to the device.
  void send() const {
    if (apart_) cuda::copy_to_device(block_.data(), host_);
  }
  /// Copies the device's memory to the host, after all queued work.
  void fetch() const {
    if (apart_) cuda::copy_to_host(host_, block_.data());
  }

 private:
  std::span<std::byte> host_;
  cuda::Block block_;
  bool apart_;
};

}  // namespace attnscope
