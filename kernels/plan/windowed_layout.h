#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Layout of the scores of the unfused steps, the same on every device: ordered by task, head, row
// and segment (attention_plan.h). A band problem has one such task per sequence.

#include <cstdint>
#include <limits>
#include <span>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// A batch of independent token sequences; the band of each is cut off at the sequence's ends.
struct BandProblem {
  std::span<const TokenRange> sequences;  // ascending, disjoint, each inside one item
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  // one-sided w >= 0, also w >= sequence length
};

/// Represents sizes that do not fit 64 bits.
inline constexpr std::int64_t too_many = std::numeric_limits<std::int64_t>::max();

/// Tokens of all sequences.
[[nodiscard]] std::int64_t tokens_of(const BandProblem& problem);

/// A sequence's keys as the segment of its rows.
[[nodiscard]] Segment band_of(const BandProblem& problem, TokenRange sequence);

/// Number of floats in the compact band: heads * the sum over sequences of n * min(2w+1, n), where
/// n is the sequence's length; too_many if it does not fit. Head h, row r of a sequence starts (h *
/// n + r) * min(2w+1, n) floats after the end of the preceding sequences.
[[nodiscard]] std::int64_t band_elements(const BandProblem& problem);

/// Floats of one row of a task; too_many if the number does not fit.
[[nodiscard]] std::int64_t columns_of(const AttentionPlan& plan, const Task& task);
/// Rows of a task over all of its heads.
[[nodiscard]] std::int64_t rows_of(const Task& task);

/// Floats of the scores of the three steps: per task and head, rows * the sum over segments of
/// columns_of; too_many if the number does not fit.
[[nodiscard]] std::int64_t windowed_score_elements(const AttentionPlan& plan);

/// Ok, or why the plan's scores have no such layout with at most `most` floats.
[[nodiscard]] Status has_windowed_layout(const AttentionPlan& plan, std::int64_t most);

}  // namespace attnscope
