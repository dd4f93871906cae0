// SPDX-License-Identifier: Apache-2.0
//
// Calls that take memory nobody predicted, counted and behind the counters' back.
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

/// So much more address space and no more: the machine is not to go down with the trial.
class LittleMore {
 public:
  explicit LittleMore(std::int64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = std::min(before_.rlim_max, static_cast<rlim_t>(mapped_bytes() + bytes));
    setrlimit(RLIMIT_AS, &limit);
  }
  LittleMore(const LittleMore&) = delete;
  LittleMore& operator=(const LittleMore&) = delete;
  ~LittleMore() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

void ask_for_all_memory(const Answered&) {
  std::list<measure::Buffer> taken;
  while (true) taken.emplace_back(measure::process_memory(), 64 * mebibyte);
}

void eat_memory_unseen(const Answered&) {
  const LittleMore limit(256 * mebibyte);
  std::list<std::vector<char>> taken;
  while (true) taken.emplace_back(static_cast<std::size_t>(mebibyte), '\1');
}

void take_memory_outside_the_workspace(const Answered&) {
  std::vector<char> touched(static_cast<std::size_t>(100 * mebibyte), '\1');
  // What is written is read, so that the writing is not left out.
  static_cast<void>(*static_cast<volatile char*>(&touched.back()));
}

}  // namespace attnscope::trial
