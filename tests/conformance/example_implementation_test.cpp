// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/example_implementation.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/attention/check.h"

namespace attnscope {
namespace {

TEST(ExampleImplementation, PassesTheConformanceCheckOnEveryPattern) {
  const std::array<const Implementation*, 1> example{&example::naive_rows_implementation()};
  int computed = 0;
  const int wrong = check_implementations(example, DeviceKind::cpu, 1, [&](const CheckRow& row) {
    if (row.outcome == CheckRow::Outcome::ok) ++computed;
    EXPECT_NE(row.outcome, CheckRow::Outcome::wrong)
        << row.pattern << " " << row.window << " on " << row.shape << ": " << row.reason;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(computed, 500);
}

}  // namespace
}  // namespace attnscope
