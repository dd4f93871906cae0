// SPDX-License-Identifier: Apache-2.0
//
// Calls that do not come back.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/trial_worker/faults.h"

namespace attnscope::trial {
namespace {

// After the call that is checked and one at least of the warm-up.
constexpr int fatal_call = 3;

[[noreturn]] void hang() {
  while (true) pause();
}

}  // namespace

void abort_in_the_third_call(const Answered& answered) {
  if (answered.number == fatal_call) std::abort();
}

void fault_in_the_third_call(const Answered& answered) {
  static volatile int* volatile nowhere = nullptr;
  if (answered.number == fatal_call) *nowhere = 1;
}

void throw_in_the_third_call(const Answered& answered) {
  if (answered.number == fatal_call) throw std::runtime_error("a library gave up in words");
}

void be_killed_in_the_third_call(const Answered& answered) {
  if (answered.number == fatal_call) std::raise(SIGKILL);
}

void hang_at_once(const Answered&) {
  hang();
}

void hang_when_timed(const Answered& answered) {
  // So long that one call is all the warm-up, and none leads a sample in: the fourth is timed.
  constexpr std::chrono::milliseconds long_call{120};
  constexpr int timed_call = 4;
  if (answered.number == timed_call) hang();
  std::this_thread::sleep_for(long_call);
}

void abort_afterwards() {
  std::abort();
}

}  // namespace attnscope::trial
