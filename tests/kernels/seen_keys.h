#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which keys a row sees: from the oracle, pair by pair, for patterns; from the plan's own intervals
// where there is only a plan, or too many pairs.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/pattern/sequence_layout.h"
#include "engine/pattern/window.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::testing {

/// Ascending keys of (token, head).
using KeysOf = std::function<std::vector<std::int64_t>(std::int64_t token, std::int32_t head)>;

[[nodiscard]] KeysOf keys_from_oracle(const std::string& pattern, std::optional<Window> window,
                                      const SequenceLayout& layout);

/// `plan` must outlive the result.
[[nodiscard]] KeysOf keys_from_plan(const AttentionPlan& plan);

}  // namespace attnscope::testing
