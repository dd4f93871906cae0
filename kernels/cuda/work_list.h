#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a plan is cut for the plain kernels (kernels/cuda/segment/plain.cuh), which take any: a unit
// is one thread block's work for one head, some tokens that stand still and the segments of those
// that pass by, of which each sees what the segments' rules show it. In the gradients of keys and
// values it is keys that stand still (the plan transposed). Everything is fixed by the plan alone,
// and every result is summed by one warp, in one order.

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"

namespace attnscope::cuda {

inline constexpr std::int32_t strip_tokens = 16;

/// Tokens begin ... begin+count, or, if listed, the tokens at indices[begin ... begin+count).
struct WorkRun {
  std::int32_t begin = 0;
  std::int32_t count = 0;
  std::int32_t listed = 0;
};

enum class RuleKind : std::int32_t { none, whole, band, block };

/// Which of a segment's tokens the token t sees: those in the interval [low, high) of
///   none   nothing
///   whole  [begin, end)
///   band   [t + offset - window, t + offset + window + 1), cut to [begin, end)
///   block  with c = floor((t + offset - origin) / window): [origin + c window - back,
///          + window), cut to [begin, end); nothing from token `until` on
struct WorkRule {
  RuleKind kind = RuleKind::none;
  std::int32_t begin = 0, end = 0;
  std::int32_t window = 0;
  std::int32_t offset = 0;
  std::int32_t origin = 0;
  std::int32_t back = 0;
  std::int32_t until = std::numeric_limits<std::int32_t>::max();
  friend auto operator<=>(const WorkRule&, const WorkRule&) = default;  // NOLINT: no null pointer
};

/// Tokens that pass by.
struct WorkSegment {
  WorkRun run;
  WorkRule rule;    // none only where segments are still being cut
  WorkRun skipped;  // tokens that nobody sees, listed; of a contiguous run
};

struct WorkUnit {
  WorkRun run;  // of at most strip_tokens
  std::int32_t first_segment = 0, segments = 0;
  std::int32_t first_head = 0;  // heads first_head ... first_head + heads_per_unit
};

struct WorkList {
  std::vector<WorkUnit> units;  // of rows, then, for the backward pass, of keys
  std::vector<WorkSegment> segments;
  std::vector<std::int32_t> indices;
  std::int32_t row_units = 0;
  std::int32_t heads = 0;           // of the plan
  std::int32_t heads_per_unit = 0;  // all units alike
  std::int32_t tokens = 0;
};

/// Errors: more than 2^29 tokens, because sums of three token numbers must fit 32 bits.
[[nodiscard]] Result<WorkList> cut_into_units(const AttentionPlan& plan, Passes passes);

}  // namespace attnscope::cuda
