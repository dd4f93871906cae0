#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the current CUDA device is and what it can reach. Only once cuda::usable().

#include <nlohmann/json.hpp>

#include "engine/heat/cell.h"

namespace attnscope::measure {

/// Rates of multiply-adds in float32 and of 16-bit factors on tensor cores, of exponentials, and of
/// copies by working set; a second or two.
[[nodiscard]] Ceilings measure_cuda_ceilings();

/// compute_capability, memory_bytes, multiprocessors, L2, clocks, ECC, driver and runtime.
[[nodiscard]] nlohmann::json describe_cuda_device();

}  // namespace attnscope::measure
