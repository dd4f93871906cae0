#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What this process grew by at its worst moment, as the kernel saw it: memory that no counting
// allocator handed out is in it, too.
//
//   const ProcessPeak peak;
//   call();
//   peak.grown_bytes();      // also what was given back meanwhile
//
// Where a kernel counts pages for each core apart (6.2 and newer), up to a MiB a core is missing.

#include <cstdint>
#include <optional>

namespace attnscope::measure {

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
