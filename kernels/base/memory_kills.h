#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How many processes of this machine the system has killed since it was started because memory ran
// out. It tells such a kill from one by a person: both are a SIGKILL.

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace attnscope {

/// Nothing where the system does not tell.
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
