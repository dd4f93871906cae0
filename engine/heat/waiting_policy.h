#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long the threads of a parallel region, ours or LibTorch's, turn in circles for each other
// before they sleep. Left to itself libgomp turns for milliseconds: on a machine that does other
// things too, a thread that waits so holds the core of the one it waits for. Sleeping at once costs
// short calls the time to wake: a window of 4 at 64 tokens takes 21 us with these turns or endless
// ones, 48 with 300 and 63 with none (two cores). Whoever sets either variable has chosen
// otherwise, and measures that; a run's provenance has the variables of its worker.

#include <cstdlib>

namespace attnscope {

inline constexpr const char* spin_count_name = "GOMP_SPINCOUNT";
inline constexpr const char* spin_count = "3000";

[[nodiscard]] inline bool has_waiting_policy() {
  return std::getenv(spin_count_name) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr;
}

}  // namespace attnscope
