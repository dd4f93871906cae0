#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The keys of one query row in one segment, as run-length intervals: the executable definition of a
// plan. Kernels, counts and the viewer's mask use it or are tested against it.

#include <vector>

#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// The contiguous key range of query token `query` in `segment` before skipped keys are removed;
/// empty if it has no keys. Only for segments whose key run is a range.
[[nodiscard]] TokenRange key_window(const Segment& segment, std::int64_t query);

/// Appends the keys of `query` in `segment` as ascending disjoint intervals.
void append_key_intervals(const AttentionPlan& plan, const Segment& segment, std::int64_t query,
                          std::vector<TokenRange>& intervals);

/// All keys of `query` within `task`, merged, ascending.
[[nodiscard]] std::vector<TokenRange> key_intervals(const AttentionPlan& plan, const Task& task,
                                                    std::int64_t query);

}  // namespace attnscope
