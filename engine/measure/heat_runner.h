#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measures one heat inside the worker: shared inputs, correctness gate, memory, shuffled rounds.

#include <atomic>
#include <functional>
#include <string_view>

#include "engine/heat/cell.h"
#include "engine/worker/machine_messages.h"
#include "engine/worker/sign_of_life.h"

namespace attnscope::measure {

struct HeatHooks {
  /// Called outside timed rounds only: contender index and "prepare", "check" (output and memory),
  /// "time" (once for each placement, before its warm-up).
  std::function<void(int contender, std::string_view phase)> on_phase;
  const std::atomic<bool>* cancel = nullptr;
  /// Set to the running contender; keeps it when that contender loses the device.
  Beacon* beacon = nullptr;
};

/// Returns cells in the heat's order with this process's samples. Contenders that cannot run become
/// `unsupported`, `oom` or `wrong`; the others are measured together. After a cancel, cells that
/// would be `ok` become `cancelled` without samples: an interrupted heat is measured again
/// completely. Returns an error when ATTNSCOPE_MEMORY_LIMIT_MB is not a number. Throws
/// cuda::DeviceLost when a contender made the device unusable; the process must then end, and the
/// beacon still names that contender.
[[nodiscard]] Result<HeatResult> run_heat(const protocol::HeatRequest& request,
                                          const HeatHooks& hooks);

}  // namespace attnscope::measure
