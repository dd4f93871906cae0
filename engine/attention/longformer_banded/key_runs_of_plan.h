#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plan by its keys: the rows whose scores hold a key's column. The gradients of keys and values
// are sums over these rows, one number per thread, in a fixed order and without atomics. Like the
// original's index lists, this depends only on the layout and is made once.

#include <cstdint>
#include <vector>

#include "kernels/plan/attention_plan.h"

namespace attnscope::longformer_banded {

/// A segment of a task that contains the keys of a run.
struct KeyView {
  std::int64_t task = 0;     // index into plan.tasks
  std::int64_t segment = 0;  // index into plan.segments
  std::int64_t column = 0;   // whole: that of the run's first key; band and block: the segment's
                             // first
};

/// Adjacent keys contained in the same segments, for a range of heads.
struct KeyRun {
  TokenRange keys{};
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::int64_t first_view = 0;
  std::int64_t view_count = 0;  // 0: no row attends to them, their gradients are 0
};

/// Every (token, head) is in exactly one run.
struct KeyRuns {
  std::vector<KeyRun> runs;
  std::vector<KeyView> views;
};

/// For plans that have a windowed layout.
[[nodiscard]] KeyRuns key_runs_of(const AttentionPlan& plan);

}  // namespace attnscope::longformer_banded
