#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the scores of the unfused steps stand, alike on every device: task by task, in it head by
// head, in it row by row, in it segment by segment (score_columns.h). A band problem is one such
// task a sequence.

#include <cstdint>
#include <limits>
#include <span>

#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/score_columns.h"

namespace attnscope {

/// A batch of independent token sequences; the band of each is cut off at its own ends.
struct BandProblem {
  std::span<const TokenRange> sequences;  // ascending, disjoint, each inside one item
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  // one-sided w >= 0, also w >= sequence length
};

/// Stands for sizes that 64 bits cannot hold.
inline constexpr std::int64_t too_many = std::numeric_limits<std::int64_t>::max();

/// Tokens of all sequences.
[[nodiscard]] std::int64_t tokens_of(const BandProblem& problem);

/// A sequence's keys as its rows see them.
[[nodiscard]] Segment band_of(const BandProblem& problem, TokenRange sequence);

/// Floats in the compact band, exactly: heads * the sum over sequences of n * min(2w+1, n), n
/// being its length; too_many where they cannot be counted. Head h, row r of a sequence starts
/// (h * n + r) * min(2w+1, n) floats behind all sequences before it.
[[nodiscard]] std::int64_t band_elements(const BandProblem& problem);

/// Floats of one row of a task; too_many where they cannot be counted.
[[nodiscard]] std::int64_t columns_of(const AttentionPlan& plan, const Task& task);
/// Rows of a task over all of its heads.
[[nodiscard]] std::int64_t rows_of(const Task& task);

/// Floats of the scores of the three steps: per task and head rows * the sum over segments of
/// columns_of; too_many where they cannot be counted.
[[nodiscard]] std::int64_t windowed_score_elements(const AttentionPlan& plan);

/// Why the plan's scores have no such layout, or none of at most `most` floats.
[[nodiscard]] Status has_windowed_layout(const AttentionPlan& plan, std::int64_t most);

}  // namespace attnscope
