// SPDX-License-Identifier: Apache-2.0
//
// The kernel call within a call of PyTorch's operator, timed without PyTorch; operator_overhead.py
// loads it and compares it with the operator in one process.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "kernels/cpu/segment.h"
#include "tests/benchmark/problem.h"

namespace {

/// CPU time of this thread, as Python's time.thread_time().
double seconds_of_this_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

/// Seconds of one of `calls` forward calls with log-sum-exps on one item, one thread.
extern "C" double attnscope_segment_seconds(std::int64_t tokens, std::int64_t window,
                                            std::int64_t calls) {
  using namespace attnscope::cpu;
  static Problem problem =
      make_problem({.item_tokens = tokens, .window = window, .token_major = true});
  std::vector<float> lse(static_cast<std::size_t>(tokens * heads));
  const std::int64_t bytes = segment_workspace_bytes(problem.plan, head_dim, 1);
  const Buffer workspace = buffer(bytes);
  const double start = seconds_of_this_thread();
  for (std::int64_t call = 0; call < calls; ++call) {
    if (!segment_forward(problem.plan, problem.in(problem.q), problem.in(problem.k),
                         problem.in(problem.v), scale, problem.out(), lse, 1,
                         {workspace.get(), static_cast<std::size_t>(bytes)})) {
      std::abort();
    }
  }
  return (seconds_of_this_thread() - start) / static_cast<double>(calls);
}
