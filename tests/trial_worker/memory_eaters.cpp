// SPDX-License-Identifier: Apache-2.0
//
// Calls that allocate more memory than predicted, through the counting allocator or past it.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <list>
#include <memory>
#include <vector>

#include "engine/measure/heat_device.h"
#include "tests/trial_worker/faults.h"

namespace attnscope::trial {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

std::int64_t mapped_bytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

/// Limits the process to `bytes` of additional address space, so that the test does not exhaust the
/// machine's memory.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::int64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = std::min(before_.rlim_max, static_cast<rlim_t>(mapped_bytes() + bytes));
    setrlimit(RLIMIT_AS, &limit);
  }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

void allocate_all_counted_memory(const Answered&) {
  std::list<measure::Buffer> taken;
  while (true) taken.emplace_back(measure::process_memory(), 64 * mebibyte);
}

void allocate_uncounted_memory(const Answered&) {
  const AddressSpaceLimit limit(256 * mebibyte);
  std::list<std::vector<char>> taken;
  while (true) taken.emplace_back(static_cast<std::size_t>(mebibyte), '\1');
}

void allocate_outside_the_workspace(const Answered&) {
  std::vector<char> touched(static_cast<std::size_t>(100 * mebibyte), '\1');
  // Reads a written byte, so that the compiler does not omit the writes.
  static_cast<void>(*static_cast<volatile char*>(&touched.back()));
}

}  // namespace attnscope::trial
