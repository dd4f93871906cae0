#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a value planted in one token's key and value may be seen.

#include <cstdint>
#include <string>

#include "tests/kernels/attention_case.h"

namespace attnscope::testing {

[[nodiscard]] bool all_finite(const Packed& packed, std::int64_t token, std::int64_t head);

/// Rows that do not see `planted` are as before, bit for bit; rows that do are not finite.
void expect_confined(const AttentionCase& problem, const Outputs& clean, const Outputs& dirty,
                     std::int64_t planted, const std::string& what);

}  // namespace attnscope::testing
