// SPDX-License-Identifier: Apache-2.0
//
// Every listed implementation x every built-in pattern x odd shapes on the CUDA device. Without one
// that can be used the tests are skipped, with the reason, and declining in words is what is held.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "tests/conformance/check_rows.h"

namespace attnscope {
namespace {

using Outcome = CheckRow::Outcome;

/// Runs once; the tests look at its rows.
const std::vector<CheckRow>& all_rows() {
  static const std::vector<CheckRow> rows = check_rows(DeviceKind::cuda);
  return rows;
}

class CudaConformance : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::usable()) GTEST_SKIP() << "not run: " << cuda::usable().error().message;
  }
};

TEST_F(CudaConformance, NoImplementationIsWrongAnywhere) {
  expect_none_wrong(all_rows());
}

TEST_F(CudaConformance, EveryImplementationComputesEveryPatternInEveryDtype_AndBackward) {
  std::map<std::string, std::set<std::string>> patterns;
  std::map<std::string, std::set<std::string>> forms;
  for (const CheckRow& row : all_rows()) {
    if (row.outcome != Outcome::ok || !row.shape.ends_with("forward-backward")) continue;
    patterns[row.implementation].insert(row.pattern);
    forms[row.implementation].insert(std::string(name_of(row.dtype)));
  }
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    // Sliding chunks are of a window.
    const bool needs_a_window = id == "longformer-chunks";
    EXPECT_EQ(patterns[id].contains("full"), !needs_a_window) << id;
    // Without a mask full attention is all there is; a window takes no scattered global tokens.
    if (id == "flash-window") {
      EXPECT_THAT(patterns[id], testing::IsSupersetOf({"full", "longformer", "sparse"}));
    } else if (id != "sdpa" && id != "sdpa-flash" && !needs_a_window) {
      EXPECT_EQ(patterns[id].size(), built_in_patterns().size()) << id;
    }
    const bool is_16_bit_alone = id == "sdpa-flash" || id == "sdpa-cudnn" || id == "flash-window";
    EXPECT_EQ(forms[id].size(), is_16_bit_alone ? 2U : 3U) << id;
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
