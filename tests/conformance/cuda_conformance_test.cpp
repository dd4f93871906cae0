// SPDX-License-Identifier: Apache-2.0
//
// Every listed implementation x every built-in pattern x odd shapes on the CUDA device. Without a
// usable device these tests are skipped, with the reason, and the refusals are tested.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "tests/conformance/check_rows.h"

namespace attnscope {
namespace {

class CudaConformance : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::usable()) GTEST_SKIP() << "not run: " << cuda::usable().error().message;
  }
};

TEST_F(CudaConformance, NoImplementationIsWrongAnywhere) {
  expect_none_wrong(all_rows(DeviceKind::cuda));
}

TEST_F(CudaConformance, EveryImplementationComputesEveryPatternInEveryDtype_AndBackward) {
  std::map<std::string, Computed> computed =
      computed_in(all_rows(DeviceKind::cuda), /*backward=*/true);
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    const std::set<std::string>& patterns = computed[id].patterns;
    // Sliding chunks need a window.
    const bool needs_a_window = id == "longformer-chunks";
    EXPECT_EQ(patterns.contains("full"), !needs_a_window) << id;
    // Without a mask only full attention is possible; a window has no scattered global tokens.
    if (id == "flash-window") {
      EXPECT_THAT(patterns, testing::IsSupersetOf({"full", "longformer", "sparse"}));
    } else if (id != "sdpa" && id != "sdpa-flash" && !needs_a_window) {
      EXPECT_EQ(patterns.size(), built_in_patterns().size()) << id;
    }
    std::set<std::string> dtypes;
    for (const std::string& form : computed[id].forms)
      dtypes.insert(form.substr(0, form.find(' ')));
    const bool is_only_16_bit = id == "sdpa-flash" || id == "sdpa-cudnn" || id == "flash-window";
    EXPECT_EQ(dtypes.size(), is_only_16_bit ? 2U : 3U) << id;
  }
}

TEST(CudaWithoutADevice, EveryImplementationDeclinesWithTheReason) {
  if (cuda::usable()) GTEST_SKIP() << "not run: there is a device";
  const std::string& reason = cuda::usable().error().message;
  int rows = 0;
  const int wrong = check_all(DeviceKind::cuda, 1, [&](const CheckRow& row) {
    ASSERT_EQ(row.outcome, Outcome::declined) << describe(row);
    rows += row.reason == reason ? 1 : 0;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(rows, 1000);
}

}  // namespace
}  // namespace attnscope
