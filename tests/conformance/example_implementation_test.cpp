// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/example_implementation.h"

#include <gtest/gtest.h>

#include "engine/attention/list.h"
#include "engine/proof/check.h"

namespace attnscope {
namespace {

TEST(ExampleImplementation, PassesTheConformanceCheckOnEveryPattern) {
  ImplementationList list;
  list.add(example::naive_rows_implementations());
  int computed = 0;
  const int wrong = check_implementations(list.all(), DeviceKind::cpu, 1, [&](const CheckRow& row) {
    if (row.outcome == CheckRow::Outcome::ok) ++computed;
    EXPECT_NE(row.outcome, CheckRow::Outcome::wrong)
        << row.pattern << " " << row.window << " on " << row.shape << ": " << row.reason;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(computed, 500);
}

}  // namespace
}  // namespace attnscope
