#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Describes this machine and this build as JSON that the worker's greeting contains and every run
// stores.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::measure {

/// kind, name, cores, memory_bytes, system, kernel, instruction_set, governor, ... of the
/// processor, and properties of the environment that affect times although no sweep sets them: the
/// cores that the process may use, a container's share of them, simultaneous multithreading, the C
/// library, environment variables that its libraries read. null where the system does not report a
/// value.
[[nodiscard]] nlohmann::json describe_machine();

/// compute_capability, memory_bytes, multiprocessors, L2, clocks, ECC, driver and runtime of the
/// current CUDA device; requires cuda::usable().
[[nodiscard]] nlohmann::json describe_cuda_device();

/// version, commit, dirty, compiler, flags, LibTorch, its BLAS and oneDNN, OpenMP runtimes, the
/// allocator of tensors.
[[nodiscard]] nlohmann::json describe_build();

/// Distinct paths of OpenMP runtimes in the text of /proc/PID/maps.
[[nodiscard]] std::vector<std::string> openmp_runtimes(std::string_view maps);
/// OpenMP runtimes that are mapped into this process.
[[nodiscard]] std::vector<std::string> mapped_openmp_runtimes();

/// Formats ascending core numbers as ranges: "0-3,8" for 0, 1, 2, 3, 8.
[[nodiscard]] std::string core_ranges(std::span<const int> cores);

/// {"OMP_NUM_THREADS":"2", ...}: the variables of a NAME=VALUE list (terminated by a null pointer)
/// that affect speed or the libraries in use. Paths are reduced to their file name, because exports
/// include the provenance and must not reveal a user's folders.
[[nodiscard]] nlohmann::json settings_that_matter(const char* const* environment);

/// Sets the threads of LibTorch and of the kernels' OpenMP regions for later calls of this thread.
void set_threads(int threads);

}  // namespace attnscope::measure
