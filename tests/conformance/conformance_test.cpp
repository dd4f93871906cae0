// SPDX-License-Identifier: Apache-2.0
//
// Every listed implementation x every built-in pattern x odd shapes, on the CPU and on the CUDA
// device. A new implementation is included by its line in list.inc; nothing is added here. Without
// a usable device its tests are skipped, with the reason, and the refusals are tested.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "engine/proof/check.h"

namespace attnscope {
namespace {

using Outcome = CheckRow::Outcome;

std::string describe(const CheckRow& row) {
  return fmt::format("{}/{}/{} on {}, {}: {} (error {:.3g}, bound {:.3g})", row.pattern,
                     row.implementation, row.window, row.shape, name_of(row.dtype), row.reason,
                     row.relative_error, row.error_bound);
}

/// Every listed implementation x every built-in pattern x odd shapes, all threads; runs once.
const std::vector<CheckRow>& all_rows(DeviceKind device = DeviceKind::cpu) {
  static std::map<DeviceKind, std::vector<CheckRow>> of;
  std::vector<CheckRow>& rows = of[device];
  if (rows.empty())
    check_all(device, omp_get_num_procs(), [&](const CheckRow& row) { rows.push_back(row); });
  return rows;
}

/// Fails with the first 20 wrong rows.
void expect_none_wrong(const std::vector<CheckRow>& rows) {
  int wrong = 0;
  for (const CheckRow& row : rows) {
    if (row.outcome != Outcome::wrong) continue;
    if (++wrong <= 20) ADD_FAILURE() << describe(row);
  }
  EXPECT_EQ(wrong, 0) << "rows are wrong in total";
}

/// Patterns, and dtypes with memory orders, that an implementation computed.
struct Computed {
  std::set<std::string> patterns, forms;
};
/// What each implementation computed in the rows with gradients.
std::map<std::string, Computed> computed_with_gradients(const std::vector<CheckRow>& rows) {
  std::map<std::string, Computed> computed;
  for (const CheckRow& row : rows) {
    if (row.outcome != Outcome::ok || !row.shape.ends_with("forward-backward")) continue;
    const bool head_major = row.shape.find("head-major") != std::string::npos;
    computed[row.implementation].patterns.insert(row.pattern);
    computed[row.implementation].forms.insert(
        fmt::format("{} {}", name_of(row.dtype), head_major ? "head-major" : "token-major"));
  }
  return computed;
}

TEST(Conformance, NoImplementationIsWrongAnywhere) {
  expect_none_wrong(all_rows());
}

/// Implementations that run only on CUDA.
bool is_of_cuda(const std::string& id) {
  return id == "sdpa-efficient" || id == "sdpa-cudnn" || id == "flash-window";
}

TEST(Conformance, EveryRefusalHasAReasonOfOneSentence) {
  for (const CheckRow& row : all_rows()) {
    if (row.outcome != Outcome::declined) {
      ASSERT_FALSE(is_of_cuda(row.implementation)) << describe(row);
      continue;
    }
    ASSERT_FALSE(row.reason.empty()) << describe(row);
    ASSERT_THAT(row.reason, testing::Not(testing::HasSubstr("\n"))) << describe(row);
  }
}

TEST(Conformance, EveryPatternMemoryOrderAndDtypeIsComputedWithGradients) {
  std::map<std::string, Computed> computed = computed_with_gradients(all_rows());
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    if (is_of_cuda(id)) continue;
    // Sliding chunks need a window, and full attention has none.
    const auto supported = [&](const AttentionPattern& pattern) {
      return id != "longformer-chunks" || pattern.has_window();
    };
    EXPECT_EQ(computed[id].patterns.size(), std::ranges::count_if(built_in_patterns(), supported))
        << id;
    EXPECT_EQ(computed[id].forms.size(), 6U) << id;
  }
}

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
  std::map<std::string, Computed> computed = computed_with_gradients(all_rows(DeviceKind::cuda));
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
