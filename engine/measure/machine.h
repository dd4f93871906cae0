#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The machine: its description and that of this build as JSON, which the worker's greeting contains
// and every run stores; and its memory: how many bytes this process can still allocate before it
// swaps or a control group kills it, and by how much the process grew at its peak.
//
//   if (needed > available_memory_bytes()) ...   // the cell is `oom`, before anything is allocated
//   const ProcessPeak peak;
//   call();
//   peak.grown_bytes();      // including memory freed since
//
// The environment variable ATTNSCOPE_MEMORY_LIMIT_MB=N lowers the limit: measurements then use N
// MiB in total.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

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
[[nodiscard]] nlohmann::json relevant_settings(const char* const* environment);

/// Sets the threads of LibTorch and of the kernels' OpenMP regions for later calls of this thread.
void set_threads(int threads);

inline constexpr std::int64_t mib = std::int64_t{1} << 20;

/// The minimum of MemAvailable, the remainders of all enclosing control groups (v1 and v2) and that
/// of the address space limit (ulimit -v), minus a safety margin of 5% of the memory, at least 128
/// MiB and at most 1 GiB; never below 0.
[[nodiscard]] std::int64_t available_memory_bytes();

/// MemTotal of the machine, or the lowest limit of a control group or of the address space if that
/// is lower.
[[nodiscard]] std::int64_t total_memory_bytes();

/// Resident memory of this process.
[[nodiscard]] std::int64_t resident_bytes();

/// ATTNSCOPE_MEMORY_LIMIT_MB in bytes; absent if it is not set, an error if it is not a number.
[[nodiscard]] Result<std::optional<std::int64_t>> memory_limit_bytes();

/// Bytes of a "MemAvailable:   123 kB" line of /proc/meminfo; absent when there is none.
[[nodiscard]] std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo,
                                                        std::string_view key);

/// "12.9 GiB (13851623424 bytes)"
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

/// Peak memory as the kernel counts it, including memory that no counting allocator allocated.
/// Where the kernel counts pages per core (6.2 and newer), up to 1 MiB per core is missing.
class ProcessPeak {
 public:
  /// Resets the peaks.
  ProcessPeak();
  /// Growth in touched pages, excluding pages of files: code that runs for the first time is not
  /// memory of the call. Absent where the kernel does not let a process reset its peaks.
  [[nodiscard]] std::optional<std::int64_t> grown_bytes() const;

 private:
  struct Resident {
    std::int64_t now = 0, peak = 0, of_files = 0;
  };
  [[nodiscard]] static std::optional<Resident> read();
  std::optional<Resident> before_;
};

}  // namespace attnscope::measure
