#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The number of processes that the system has killed since boot because memory ran out. It
// distinguishes such a kill from one by a user: both are a SIGKILL.

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace attnscope {

/// Nothing if the system does not report it.
[[nodiscard]] inline std::optional<std::int64_t> memory_kills() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  std::int64_t count = 0;
  while (counters >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

}  // namespace attnscope
