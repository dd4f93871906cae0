// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/process_peak.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnscope::measure {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

void touch(std::int64_t bytes) {
  const std::vector<char> touched(static_cast<std::size_t>(bytes), '\1');
  static_cast<void>(*static_cast<const volatile char*>(&touched.back()));
}

TEST(ProcessPeak, SeesWhatWasTakenAndGivenBackMeanwhile) {
  const ProcessPeak peak;
  if (!peak.grown_bytes()) GTEST_SKIP() << "this kernel does not let a process forget its peaks";
  touch(80 * mebibyte);
  EXPECT_GE(*peak.grown_bytes(), 70 * mebibyte);
  EXPECT_LT(*peak.grown_bytes(), 200 * mebibyte);
}

TEST(ProcessPeak, ForgetsWhatWasBefore) {
  touch(80 * mebibyte);
  const ProcessPeak peak;
  if (!peak.grown_bytes()) GTEST_SKIP() << "this kernel does not let a process forget its peaks";
  EXPECT_LT(*peak.grown_bytes(), 40 * mebibyte);
}

}  // namespace
}  // namespace attnscope::measure
