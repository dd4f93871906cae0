#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What this machine and this build are, as the JSON that travels in the worker's greeting and is
// stored with every run.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::measure {

/// kind, name, cores, memory_bytes, system, kernel, instruction_set, governor, ... of the
/// processor, and its surroundings.
[[nodiscard]] nlohmann::json describe_machine();

/// version, commit, dirty, compiler, flags, LibTorch, its BLAS and oneDNN, OpenMP runtimes, what
/// lies under its tensors.
[[nodiscard]] nlohmann::json describe_build();

/// Paths of the OpenMP runtimes in the text of /proc/PID/maps, each once.
[[nodiscard]] std::vector<std::string> openmp_runtimes(std::string_view maps);
/// Those mapped into this process.
[[nodiscard]] std::vector<std::string> mapped_openmp_runtimes();

}  // namespace attnscope::measure
