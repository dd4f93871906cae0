// SPDX-License-Identifier: Apache-2.0
//
// Both attentions on plans written by hand, against the plans' own intervals.
#include <gtest/gtest.h>

#include <string>

#include "kernels/cpu/windowed.h"
#include "tests/kernels/attention_case.h"
#include "tests/kernels/hand_made_plans.h"

namespace attnscope::testing {
namespace {

TEST(HandMadePlans, MatchTheReference) {
  for (const auto& [name, plan, fused_only] : hand_made_plans()) {
    SCOPED_TRACE(name);
    if (fused_only) {
      expect_plan_right(plan, 32, {Kernel::segment});
    } else {
      expect_plan_right(plan, 32);
    }
  }
}

TEST(HandMadePlans, In16BitNumbers_MatchTheReference) {
  for (const auto& [name, plan, fused_only] : hand_made_plans()) {
    SCOPED_TRACE(name);
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      if (fused_only) {
        expect_plan_right(plan, 20, {Kernel::segment}, dtype);
      } else {
        expect_plan_right(plan, 20, {Kernel::segment, Kernel::windowed}, dtype);
      }
    }
  }
}

TEST(HandMadePlans, WindowsOverListedKeys_AreTheFusedKernelsAlone) {
  for (const auto& [name, plan, fused_only] : hand_made_plans()) {
    SCOPED_TRACE(name);
    const Status windowed = cpu::windowed_supports(plan, 32);
    ASSERT_EQ(!windowed.has_value(), fused_only);
    if (windowed) continue;
    EXPECT_NE(windowed.error().message.find("listed keys"), std::string::npos);
  }
}

}  // namespace
}  // namespace attnscope::testing
