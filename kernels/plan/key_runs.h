#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The position of a segment's keys relative to its queries, and the keys of one row. A run's hull
// is the range from its first to its last token; windows are cut to it.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/plan/attention_plan.h"

namespace attnscope {

[[nodiscard]] TokenRange intersect(TokenRange a, TokenRange b);

/// The tokens of an ascending list that are within `range`.
[[nodiscard]] std::span<const std::int64_t> within(std::span<const std::int64_t> tokens,
                                                   TokenRange range);

/// The tokens of a listed run.
[[nodiscard]] std::span<const std::int64_t> listed_tokens(const AttentionPlan& plan,
                                                          const TokenRun& run);

[[nodiscard]] TokenRange hull_of(const AttentionPlan& plan, const TokenRun& run);

/// The part of `hull` that `query` attends to through `segment`, skipped and unlisted keys
/// included.
[[nodiscard]] TokenRange window_within(TokenRange hull, const Segment& segment, std::int64_t query);

/// The tokens that attend to `key`, a token of `hull`, through `segment`.
[[nodiscard]] TokenRange rows_seeing(TokenRange hull, const Segment& segment, std::int64_t key);

/// The part of `hull` that at least one of the contiguous `rows` attends to through `segment`.
[[nodiscard]] TokenRange reach_of(TokenRange hull, const Segment& segment, TokenRange rows);

/// Appends the segment's keys within `range` (without skipped ones) as ascending intervals.
void append_keys_within(const AttentionPlan& plan, const Segment& segment, TokenRange range,
                        std::vector<TokenRange>& intervals);

/// The number of keys that append_keys_within would append.
[[nodiscard]] std::int64_t count_keys_within(const AttentionPlan& plan, const Segment& segment,
                                             TokenRange range);

/// Sorts intervals and joins those that touch or overlap.
void merge_intervals(std::vector<TokenRange>& intervals);

// The keys of one query row as run-length intervals: the executable definition of a plan. Kernels,
// counts and the viewer's mask use it or are tested against it.

/// Appends the keys of `query` in `segment` as ascending disjoint intervals.
void append_key_intervals(const AttentionPlan& plan, const Segment& segment, std::int64_t query,
                          std::vector<TokenRange>& intervals);

/// All keys of `query` within `task`, merged, ascending.
[[nodiscard]] std::vector<TokenRange> key_intervals(const AttentionPlan& plan, const Task& task,
                                                    std::int64_t query);

}  // namespace attnscope
