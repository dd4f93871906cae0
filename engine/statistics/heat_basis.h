#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The basis of each contender's time, determined from all contenders of a heat: the rounds that
// count, and the spread of placements.
//
//   HeatBasis basis = basis_of(contenders);   // the observations of each
//   Summary s = summarise(contenders[0], basis);
//   Ratio r = paired_ratio(contenders[0], contenders[1], basis);

#include <span>
#include <vector>

#include "engine/statistics/observation.h"

namespace attnscope::statistics {

/// Takes each contender's observations; contenders without any are ignored.
[[nodiscard]] HeatBasis basis_of(std::span<const std::vector<Observation>> contenders);

}  // namespace attnscope::statistics
