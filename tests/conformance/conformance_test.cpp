// SPDX-License-Identifier: Apache-2.0
//
// Every listed implementation x every built-in pattern x odd shapes. A new implementation is
// included by its line in list.inc; nothing is added here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/attention/list.h"
#include "tests/conformance/check_rows.h"

namespace attnscope {
namespace {

TEST(Conformance, NoImplementationIsWrongAnywhere) {
  expect_none_wrong(all_rows());
}

/// Implementations that run only on CUDA.
bool is_of_cuda(const std::string& id) {
  return id == "sdpa-efficient" || id == "sdpa-cudnn" || id == "flash-window";
}

/// Sliding chunks need a window, and full attention has none.
bool is_supported(const std::string& id, const AttentionPattern& pattern) {
  return id != "longformer-chunks" || pattern.has_window();
}

TEST(Conformance, EveryImplementationComputesEveryPatternThatItSupports) {
  std::map<std::string, Computed> computed = computed_in(all_rows(), /*backward=*/false);
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    if (is_of_cuda(id)) {
      EXPECT_TRUE(computed[id].patterns.empty()) << id;
      continue;
    }
    if (id == "sdpa") {
      EXPECT_THAT(computed[id].patterns, testing::Contains("full"));
      continue;
    }
    for (const AttentionPattern& pattern : built_in_patterns()) {
      if (!is_supported(id, pattern)) continue;
      EXPECT_THAT(computed[id].patterns, testing::Contains(pattern.name)) << id;
    }
  }
}

TEST(Conformance, EveryRefusalHasAReasonOfOneSentence) {
  for (const CheckRow& row : all_rows()) {
    if (row.outcome != Outcome::declined) continue;
    ASSERT_FALSE(row.reason.empty()) << describe(row);
    ASSERT_THAT(row.reason, testing::Not(testing::HasSubstr("\n"))) << describe(row);
  }
}

TEST(Conformance, BaselinesComputeBothMemoryOrdersAndAllDtypes) {
  std::map<std::string, Computed> computed = computed_in(all_rows(), /*backward=*/false);
  for (const char* id :
       {"dense", "dense-torch", "sdpa", "sdpa-mask", "sdpa-flash", "bigbird", "flex-blocks"}) {
    EXPECT_EQ(computed[id].forms.size(), 6U) << id;
  }
}

TEST(Conformance, GradientsAreComputedForEveryPatternMemoryOrderAndDtype) {
  std::map<std::string, Computed> computed = computed_in(all_rows(), /*backward=*/true);
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    if (is_of_cuda(id)) continue;
    const auto supported = [&](const AttentionPattern& pattern) {
      return is_supported(id, pattern);
    };
    EXPECT_EQ(computed[id].patterns.size(), std::ranges::count_if(built_in_patterns(), supported))
        << id;
    EXPECT_EQ(computed[id].forms.size(), 6U) << id;
  }
}

}  // namespace
}  // namespace attnscope
