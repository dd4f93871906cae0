#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What this machine and this build are, as the JSON that travels in the worker's greeting and is
// stored with every run.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::measure {

/// kind, name, cores, memory_bytes, system, kernel, instruction_set, governor, ... of the
/// processor, and what lies around the measuring process and moves its numbers, though no sweep
/// asks for it: the cores it may use, a container's share of them, simultaneous multithreading, the
/// C library, environment variables that its libraries read. null where the system does not tell.
[[nodiscard]] nlohmann::json describe_machine();

/// compute_capability, memory_bytes, multiprocessors, L2, clocks, ECC, driver and runtime of the
/// current CUDA device, once cuda::usable().
[[nodiscard]] nlohmann::json describe_cuda_device();

/// version, commit, dirty, compiler, flags, LibTorch, its BLAS and oneDNN, OpenMP runtimes, what
/// lies under its tensors.
[[nodiscard]] nlohmann::json describe_build();

/// Paths of the OpenMP runtimes in the text of /proc/PID/maps, each once.
[[nodiscard]] std::vector<std::string> openmp_runtimes(std::string_view maps);
/// Those mapped into this process.
[[nodiscard]] std::vector<std::string> mapped_openmp_runtimes();

/// "0-3,8" of 0, 1, 2, 3, 8; ascending.
[[nodiscard]] std::string core_ranges(std::span<const int> cores);

/// {"OMP_NUM_THREADS":"2", ...}: those of a NAME=VALUE list (ended by a null pointer) that change
/// how fast or with what something computes. Of paths the file's name alone, since provenance
/// travels inside exports and says nothing of a person's folders.
[[nodiscard]] nlohmann::json settings_that_matter(const char* const* environment);

/// Threads of LibTorch and of the kernels' OpenMP regions, for the calling thread's later calls.
void set_threads(int threads);

}  // namespace attnscope::measure
