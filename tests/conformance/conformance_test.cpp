// SPDX-License-Identifier: Apache-2.0
//
// Every listed implementation x every built-in pattern x odd shapes. A new implementation joins by
// its line in the list; nothing is added here.

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

/// What runs on CUDA alone.
bool is_of_cuda(const std::string& id) {
  return id == "sdpa-efficient" || id == "sdpa-cudnn" || id == "flash-window";
}

/// Sliding chunks are of a window, and full attention has none.
bool is_taken(const std::string& id, const AttentionPattern& pattern) {
  return id != "longformer-chunks" || pattern.has_window();
}

TEST(Conformance, EveryImplementationComputesSomethingOfEveryPatternItTakes) {
  std::map<std::string, std::set<std::string>> computed;
  for (const CheckRow& row : all_rows()) {
    if (row.outcome == Outcome::ok) computed[row.implementation].insert(row.pattern);
  }
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    if (is_of_cuda(id)) {
      EXPECT_TRUE(computed[id].empty()) << id;
      continue;
    }
    if (id == "sdpa") {
      EXPECT_THAT(computed[id], testing::Contains("full"));
      continue;
    }
    for (const AttentionPattern& pattern : built_in_patterns()) {
      if (!is_taken(id, pattern)) continue;
      EXPECT_THAT(computed[id], testing::Contains(pattern.name)) << id;
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

TEST(Conformance, BothMemoryOrdersAndAllDtypesAreComputedByTheBaselines) {
  std::map<std::string, std::set<std::string>> seen;
  for (const CheckRow& row : all_rows()) {
    if (row.outcome != Outcome::ok) continue;
    const bool head_major = row.shape.find("head-major") != std::string::npos;
    seen[row.implementation].insert(
        fmt::format("{} {}", name_of(row.dtype), head_major ? "head-major" : "token-major"));
  }
  for (const char* id :
       {"dense", "dense-torch", "sdpa", "sdpa-mask", "sdpa-flash", "bigbird", "flex-blocks"}) {
    EXPECT_EQ(seen[id].size(), 6U) << id;
  }
}

TEST(Conformance, GradientsAreComputedOfEveryPatternInBothMemoryOrdersAndAllDtypes) {
  std::map<std::string, Computed> computed = backward_of(all_rows());
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    if (is_of_cuda(id)) continue;
    const auto taken = [&](const AttentionPattern& pattern) { return is_taken(id, pattern); };
    EXPECT_EQ(computed[id].patterns.size(), std::ranges::count_if(built_in_patterns(), taken))
        << id;
    EXPECT_EQ(computed[id].forms.size(), 6U) << id;
  }
}

}  // namespace
}  // namespace attnscope
