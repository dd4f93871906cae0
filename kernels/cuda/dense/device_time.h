#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The device's own clock, for choices that are made by time; the emulation has a twin of it.

#include <functional>

#include "kernels/base/result.h"
#include "kernels/cuda/stream.h"

namespace attnscope::cuda {

/// What the device takes for all that `work` queues on the stream, between two events, in
/// nanoseconds. Waits for it. Errors: those of `work`, also of what it queued; the stream is being
/// captured into a graph, which nothing can wait for.
[[nodiscard]] Result<double> device_time_ns(Stream stream, const std::function<Status()>& work);

/// The number of the current device.
[[nodiscard]] Result<int> current_device();

}  // namespace attnscope::cuda
