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

struct Trouble {
  CellStatus status = CellStatus::crashed;
  std::string reason;  // one sentence
};

/// Runs `action` and turns what it throws into words: memory that does not fit is `oom`, with the
/// bytes asked and free; anything else is `crashed`. After trouble the cache is emptied, so that
/// the contenders that go on find the memory. A device that is lost after trouble is
/// cuda::DeviceLost, in words: then no contender can go on in this process.
[[nodiscard]] std::optional<Trouble> guarded(HeatMemory& memory,
                                             const std::function<void()>& action);

}  // namespace attnscope::measure
