#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measures one heat inside the worker: shared inputs, correctness gate, memory, shuffled rounds.

#include <atomic>
#include <functional>
#include <string_view>

#include "engine/heat/cell.h"
#include "engine/heat/protocol.h"
#include "engine/heat/sign_of_life.h"

namespace attnscope::measure {

struct HeatHooks {
  /// Called outside timed rounds only: contender index and "prepare", "check" (output and memory),
  /// "time" (once for each placement, before its warm-up).
  std::function<void(int contender, std::string_view phase)> on_phase;
  const std::atomic<bool>* cancel = nullptr;
  /// Kept at the contender that runs; left there when one loses the device.
  Beacon* beacon = nullptr;
};

/// Cells in the heat's order, holding this process's samples. Contenders that cannot run become
/// `unsupported`, `oom`, `wrong`; the others are measured together. Once cancelled, cells that
/// would be `ok` are `cancelled` and hold no samples: an interrupted heat is measured again whole.
/// An error when ATTNSCOPE_MEMORY_LIMIT_MB is no number. Throws cuda::DeviceLost when a contender
/// made the device unusable, after which this process must end; the beacon stays at that contender.
[[nodiscard]] Result<HeatResult> run_heat(const protocol::HeatRequest& request,
                                          const HeatHooks& hooks);

}  // namespace attnscope::measure
