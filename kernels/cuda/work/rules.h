#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// From a plan's segments to the rules of a work list, in both directions.

#include <cstdint>

#include "kernels/cuda/work/token_runs.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cuda {

/// More tokens than this are declined: sums of three token numbers must fit 32 bits.
inline constexpr std::int64_t most_tokens = std::int64_t{1} << 29;

/// Which keys a query sees through `segment`, whose keys lie in `hull`, in a plan of `tokens`
/// tokens; skipped keys aside. RuleKind::none when no token number can see any; a band that all see
/// is whole.
[[nodiscard]] WorkRule rule_of(const Segment& segment, const TokenInterval& hull,
                               std::int64_t tokens);

/// The rule seen from the keys: which of the queries in `rows` see a key.
[[nodiscard]] WorkRule mirrored(const WorkRule& rule, const TokenInterval& rows);

}  // namespace attnscope::cuda
