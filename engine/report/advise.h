#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One contender's part of an advice: its numbers, without words.

#include <optional>
#include <vector>

#include "engine/report/advice.h"

namespace attnscope::report {

inline constexpr std::string_view full_pattern = "full";

/// `rows` are the contender's own, of the advice's setting; `memory` is what its longest document
/// is held against, where it is known.
[[nodiscard]] Advised advise(const Advice& advice, const std::vector<const Row*>& rows,
                             std::optional<double> memory);

/// "2.9x", "12x"; two decimals where one would say 1.0x.
[[nodiscard]] std::string times_in_words(double times);

/// Fills in sentences, remarks, heading and notes from the numbers.
void say(Advice& advice);

}  // namespace attnscope::report
