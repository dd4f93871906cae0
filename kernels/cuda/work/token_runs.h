#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs of tokens in the form of the work lists: 32-bit, contiguous or positions in one index list.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cuda {

using Indices = std::span<const std::int32_t>;

[[nodiscard]] WorkRun run_of(const TokenRun& run);

[[nodiscard]] std::int32_t token_at(const WorkRun& run, std::int32_t position, Indices indices);

/// The range from the first token of a run to one past the last; empty for an empty run.
[[nodiscard]] TokenRange hull_of(const WorkRun& run, Indices indices);

/// `count` tokens of a run from its `first` on.
[[nodiscard]] WorkRun part_of(const WorkRun& run, std::int32_t first, std::int32_t count);

/// Position in the run of its first token that is at least `token`.
[[nodiscard]] std::int32_t position_of(const WorkRun& run, std::int32_t token, Indices indices);

/// Appends a run's tokens as ascending intervals that are not adjacent.
void append_intervals(const WorkRun& run, Indices indices, std::vector<TokenRange>& intervals);

/// Ascending intervals as one run: listed, unless there is one interval.
[[nodiscard]] WorkRun as_run(std::span<const TokenRange> intervals,
                             std::vector<std::int32_t>& indices);

/// Runs for equivalent tokens, given as intervals that may be adjacent. Short intervals are joined
/// into one listed run, so that units are full; long ones stay contiguous.
[[nodiscard]] std::vector<WorkRun> runs_of(std::vector<TokenRange> tokens,
                                           std::vector<std::int32_t>& indices);

}  // namespace attnscope::cuda
