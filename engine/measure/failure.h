#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What ends a contender instead of a time.

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

/// Runs `action` and turns what it throws into words: memory that does not fit is `oom`, with the
/// bytes asked and free; anything else is `crashed`. After a failure the cache is emptied, so that
/// the contenders that go on find the memory. A device that is lost after one is
/// cuda::DeviceLost, in words: then no contender can go on in this process.
[[nodiscard]] std::optional<Failure> guarded(HeatMemory& memory,
                                             const std::function<void()>& action);

}  // namespace attnscope::measure
