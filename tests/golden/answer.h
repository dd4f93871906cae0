#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What an implementation answers to a fixture.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/golden/fixture.h"

namespace attnscope::tests {

/// o, and for direction forward-backward grad_q, grad_k and grad_v: [tokens, heads, head_dim].
/// Throws what the implementation reports.
[[nodiscard]] std::map<std::string, std::vector<float>> answer(const Implementation& implementation,
                                                               const Fixture& fixture,
                                                               MemoryOrder order,
                                                               Direction direction);

/// Largest |value - expected| over the largest |expected|; NaN when a value is.
[[nodiscard]] double distance(std::span<const float> values, std::span<const float> expected);

}  // namespace attnscope::tests
