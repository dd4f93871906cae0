#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plan in one direction: groups of stationary tokens with the same segments of streamed tokens.
// For rows these are the plan's tasks, joined if they share their segments and split if their
// blocks differ; for keys it is the plan transposed: every key belongs to one class of keys to
// which the same rows attend at the same distances.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cuda {

// Runs of tokens in the form of the work lists: 32-bit, contiguous or positions in one index list.

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

struct DirectedTask {
  WorkRun run;             // the stationary tokens; not empty
  std::int64_t item = -1;  // -1: several items
  std::int32_t first_segment = 0, segments = 0;
};

struct Direction {
  std::vector<DirectedTask> tasks;
  std::vector<WorkSegment> segments;

  [[nodiscard]] std::span<const WorkSegment> segments_of(const DirectedTask& task) const {
    return std::span(segments).subspan(static_cast<std::size_t>(task.first_segment),
                                       static_cast<std::size_t>(task.segments));
  }
};

/// `segment` of a plan with `tokens` tokens, with its keys in `run`; without tokens if no token can
/// attend to any, and whole if all attend to all. For blocks it has all keys, whichever rows attend
/// to them.
[[nodiscard]] WorkSegment directed(const Segment& segment, const WorkRun& run, std::int64_t tokens);

/// The plan's segments, in the same order, without skipped keys. Fills `indices`, which starts with
/// the plan's.
[[nodiscard]] std::vector<WorkSegment> directed_segments(const AttentionPlan& plan,
                                                         std::vector<std::int32_t>& indices);

/// Tasks of the heads `heads`; each task of the plan covers all or none of them. `segments` from
/// directed_segments.
[[nodiscard]] Direction rows_direction(const AttentionPlan& plan, HeadRange heads,
                                       std::span<const WorkSegment> segments,
                                       std::vector<std::int32_t>& indices);

/// The transposed plan.
[[nodiscard]] Direction keys_direction(const Direction& rows, std::int32_t tokens,
                                       std::vector<std::int32_t>& indices);

/// A list without units for the plan, its heads set.
[[nodiscard]] WorkList empty_list(const AttentionPlan& plan);

/// Appends the units of all tasks, for these heads, and their segments.
void add_units(const Direction& direction, HeadRange heads, WorkList& list);

}  // namespace attnscope::cuda
