#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long the threads of a parallel region, ours or LibTorch's, spin while they wait for each
// other before they sleep. By default libgomp spins for milliseconds: on a machine with other load,
// a waiting thread then occupies the core of the thread it waits for. Sleeping at once adds the
// wake-up time to short calls: a window of 4 at 64 tokens takes 21 us with these spins or with
// unlimited ones, 48 us with 300 and 63 us with none (two cores). If the user sets either variable,
// that setting is kept and measured; a run's provenance has the variables of its worker.

#include <cstdlib>

namespace attnscope {

inline constexpr const char* spin_count_name = "GOMP_SPINCOUNT";
inline constexpr const char* spin_count = "3000";

[[nodiscard]] inline bool has_waiting_policy() {
  return std::getenv(spin_count_name) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr;
}

}  // namespace attnscope
