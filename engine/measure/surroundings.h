#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What lies around the measuring process and moves its numbers, though no sweep asks for it: the
// cores it may use, a container's share of them, simultaneous multithreading, the C library,
// environment variables that its libraries read. Part of the machine's description.

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace attnscope::measure {

/// affinity, smt, microcode, hypervisor, cpu_quota, load, c_library,
/// environment; null where the system does not tell.
[[nodiscard]] nlohmann::json describe_surroundings();

/// "0-3,8" of 0, 1, 2, 3, 8; ascending.
[[nodiscard]] std::string core_ranges(std::span<const int> cores);

/// {"OMP_NUM_THREADS":"2", ...}: those of a NAME=VALUE list (ended by a null pointer) that change
/// how fast or with what something computes. Of paths the file's name alone, since provenance
/// travels inside exports and says nothing of a person's folders.
[[nodiscard]] nlohmann::json settings_that_matter(const char* const* environment);

}  // namespace attnscope::measure
