#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measures one heat inside the worker: shared inputs, correctness gate, memory, shuffled rounds.

#include <atomic>
#include <functional>
#include <string_view>

#include "engine/sweep/cell.h"
#include "engine/sweep/protocol.h"

namespace attnscope::measure {

struct HeatHooks {
  /// Called outside timed rounds only: contender index and "prepare", "check", "memory", "time".
  std::function<void(int contender, std::string_view phase)> on_phase;
  const std::atomic<bool>* cancel = nullptr;
};

/// Cells in the heat's order, holding this process's samples. Contenders that cannot run become
/// `unsupported`, `oom`, `wrong`; the others are measured together.
[[nodiscard]] HeatResult run_heat(const protocol::HeatRequest& request, const HeatHooks& hooks);

[[nodiscard]] Ceilings measure_ceilings(int threads);

}  // namespace attnscope::measure
