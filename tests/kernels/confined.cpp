// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/confined.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/pattern/oracle.h"

namespace attnscope::testing {

bool all_finite(const Packed& packed, std::int64_t token, std::int64_t head) {
  for (std::int64_t x = 0; x < packed.head_dim; ++x) {
    if (!std::isfinite(packed.at(token, head, x))) return false;
  }
  return true;
}

void expect_confined(const AttentionCase& problem, const Outputs& clean, const Outputs& dirty,
                     std::int64_t planted, const std::string& what) {
  const auto pattern = find_pattern(problem.pattern);
  const Oracle oracle(*pattern, problem.window, problem.layout);
  for (std::int64_t t = 0; t < problem.layout.tokens(); ++t) {
    for (std::int32_t h = 0; h < problem.heads; ++h) {
      if (oracle.allowed(h, t, planted)) {
        ASSERT_FALSE(all_finite(dirty.o, t, h)) << what << " hides the planted value in row " << t;
        continue;
      }
      for (std::int64_t x = 0; x < problem.head_dim; ++x) {
        ASSERT_EQ(clean.o.at(t, h, x), dirty.o.at(t, h, x)) << what << " row " << t;
      }
      const auto row = static_cast<std::size_t>(t * problem.heads + h);
      ASSERT_EQ(clean.lse[row], dirty.lse[row]) << what << " row " << t;
    }
  }
}

}  // namespace attnscope::testing
