#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The keys one query row sees through one segment, as run-length intervals: the meaning of a plan
// in executable form. Kernels, counts and the viewer's mask all go through it or are tested against
// it.

#include <vector>

#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// The contiguous key range that query token `query` sees through `segment` before skipped keys are
/// taken out; empty when it sees none. Only for segments whose key run is a range.
[[nodiscard]] TokenRange key_window(const Segment& segment, std::int64_t query);

/// Appends the keys of `segment` visible to `query` as ascending disjoint intervals.
void append_key_intervals(const AttentionPlan& plan, const Segment& segment, std::int64_t query,
                          std::vector<TokenRange>& intervals);

/// All keys that `query` sees within `task`, merged, ascending.
[[nodiscard]] std::vector<TokenRange> key_intervals(const AttentionPlan& plan, const Task& task,
                                                    std::int64_t query);

}  // namespace attnscope
