#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the machine says of memory: how many bytes this process may still take before it swaps or a
// control group kills it, and what the process grew by at its worst moment.
//
//   if (needed > available_memory_bytes()) ...   // the cell is `oom`, before anything is allocated
//   const ProcessPeak peak;
//   call();
//   peak.grown_bytes();      // also what was given back meanwhile
//
// ATTNSCOPE_MEMORY_LIMIT_MB=N in the environment lowers it: measurements then live in N MiB in all.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace attnscope::measure {

inline constexpr std::int64_t mib = std::int64_t{1} << 20;

/// The least of MemAvailable and what every enclosing control group (v1 and v2) and the limit of
/// the address space (ulimit -v) leave, minus a safety margin of 5% of the memory, at least 128 MiB
/// and at most 1 GiB; never below 0.
[[nodiscard]] std::int64_t available_memory_bytes();

/// MemTotal of the machine, or the tightest limit of a control group or of the address space when
/// that is lower.
[[nodiscard]] std::int64_t total_memory_bytes();

/// What this process holds in memory now.
[[nodiscard]] std::int64_t resident_bytes();

/// ATTNSCOPE_MEMORY_LIMIT_MB in bytes, absent when it is not set; an error when it is no number.
[[nodiscard]] Result<std::optional<std::int64_t>> memory_limit_bytes();

/// Bytes of a "MemAvailable:   123 kB" line of /proc/meminfo; absent when there is none.
[[nodiscard]] std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo,
                                                        std::string_view key);

/// "12.9 GiB (13851623424 bytes)"
[[nodiscard]] std::string bytes_in_words(std::int64_t bytes);

/// As the kernel sees it: memory that no counting allocator handed out is in it, too. Where it
/// counts pages for each core apart (6.2 and newer), up to a MiB a core is missing.
class ProcessPeak {
 public:
  /// Forgets the peaks before.
  ProcessPeak();
  /// Touched pages, without those of files: code that runs the first time is not the call's
  /// memory. Absent where the kernel does not let a process forget its peaks.
  [[nodiscard]] std::optional<std::int64_t> grown_bytes() const;

 private:
  struct Resident {
    std::int64_t now = 0, peak = 0, of_files = 0;
  };
  [[nodiscard]] static std::optional<Resident> read();
  std::optional<Resident> before_;
};

}  // namespace attnscope::measure
