#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The device's clock, for algorithm selection by timing; the emulation has its own version.

#include <functional>

#include "base/result.h"
#include "kernels/cuda/devices.h"

namespace attnscope::cuda {

/// Device time between two events around the work that `work` queues on the stream, in nanoseconds.
/// Synchronises. Errors: those of `work` and of its queued work; the stream is being captured into
/// a graph, so it cannot be synchronised.
[[nodiscard]] Result<double> device_time_ns(Stream stream, const std::function<Status()>& work);

/// The number of the current device.
[[nodiscard]] Result<int> current_device();

}  // namespace attnscope::cuda
