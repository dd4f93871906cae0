#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plan seen from its keys: which rows' scores hold a key's column. The gradients of keys and
// values are sums over them, one number a thread, in one order: no atomics. Like the original's
// index lists it follows from the layout alone and is made once.

#include <cstdint>
#include <vector>

#include "kernels/plan/attention_plan.h"

namespace attnscope::longformer_banded {

/// A segment of a task that holds the keys of a run.
struct KeyView {
  std::int64_t task = 0;     // of plan.tasks
  std::int64_t segment = 0;  // of plan.segments
  std::int64_t column = 0;   // whole: of the run's first key; band and block: the segment's first
};

/// Neighbouring keys held by the same segments, for the heads of a range.
struct KeyRun {
  TokenRange keys{};
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::int64_t first_view = 0;
  std::int64_t view_count = 0;  // 0: nobody sees them, their gradients are 0
};

/// Every (token, head) is in exactly one run.
struct KeyRuns {
  std::vector<KeyRun> runs;
  std::vector<KeyView> views;
};

/// For plans that have a windowed layout.
[[nodiscard]] KeyRuns key_runs_of(const AttentionPlan& plan);

}  // namespace attnscope::longformer_banded
