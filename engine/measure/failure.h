#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The failure of a contender that has no time.

#include <functional>
#include <optional>
#include <string>

#include "engine/heat/cell.h"
#include "engine/measure/heat_memory.h"

namespace attnscope::measure {

struct Failure {
  CellStatus status = CellStatus::crashed;
  std::string reason;  // one sentence
};

/// Runs `action` and converts its exceptions: memory that does not fit becomes `oom`, with the
/// requested and the free bytes; everything else becomes `crashed`. After a failure the cache is
/// emptied, so that the remaining contenders have the memory. A device that is lost after the
/// failure throws cuda::DeviceLost with a message: no contender can then continue in this process.
[[nodiscard]] std::optional<Failure> guarded(HeatMemory& memory,
                                             const std::function<void()>& action);

}  // namespace attnscope::measure
