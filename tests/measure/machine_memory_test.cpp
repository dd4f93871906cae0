// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/machine_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <vector>

namespace attnscope::measure {
namespace {

constexpr const char* variable = "ATTNSCOPE_MEMORY_LIMIT_MB";

class MemoryLimit : public testing::Test {
 protected:
  void TearDown() override { unsetenv(variable); }
};

TEST(AvailableMemory, IsPositiveAndBelowTheTotal) {
  EXPECT_GT(available_memory_bytes(), 0);
  EXPECT_LT(available_memory_bytes(), total_memory_bytes());
}

/// Ends the process with 0 where 1 GiB of address space bounds what is reported.
[[noreturn]] void look_with_little_address_space() {
  constexpr rlim_t limit = rlim_t{1} << 30;
  const rlimit address_space{limit, limit};
  setrlimit(RLIMIT_AS, &address_space);
  const bool is_bounded =
      available_memory_bytes() < std::int64_t{limit} && total_memory_bytes() == std::int64_t{limit};
  std::_Exit(is_bounded ? 0 : 1);
}

TEST(AvailableMemory, IsAtMostWhatTheAddressSpaceLeaves) {
  EXPECT_EXIT(look_with_little_address_space(), testing::ExitedWithCode(0), "");
}

TEST(AvailableMemory, ThisProcessIsResident) {
  EXPECT_GT(resident_bytes(), 1 << 20);
}

TEST(AvailableMemory, MeminfoLinesAreReadInKibibytes) {
  const char* text = "MemTotal:       24 kB\nMemFree: 7 kB\nMemAvailable:   12 kB\n";
  EXPECT_EQ(meminfo_bytes(text, "MemTotal"), 24 * 1024);
  EXPECT_EQ(meminfo_bytes(text, "MemAvailable"), 12 * 1024);
  EXPECT_EQ(meminfo_bytes(text, "Available"), std::nullopt);
  EXPECT_EQ(meminfo_bytes("", "MemTotal"), std::nullopt);
}

TEST_F(MemoryLimit, WithoutTheVariable_ThereIsNone) {
  unsetenv(variable);
  EXPECT_EQ(memory_limit_bytes().value(), std::nullopt);
}

TEST_F(MemoryLimit, CountsInMebibytes) {
  setenv(variable, "3", 1);
  EXPECT_EQ(memory_limit_bytes().value(), 3 << 20);
}

TEST_F(MemoryLimit, WhatIsNoNumber_IsAnErrorThatNamesTheVariable) {
  for (const char* text : {"much", "12x", "-1", "0", "1e3", "99999999999999999999"}) {
    setenv(variable, text, 1);
    const auto limit = memory_limit_bytes();
    ASSERT_FALSE(limit.has_value()) << text;
    EXPECT_NE(limit.error().message.find(variable), std::string::npos);
    EXPECT_NE(limit.error().message.find(text), std::string::npos);
  }
}

TEST(BytesInWords, NameTheExactNumber) {
  EXPECT_EQ(bytes_in_words(512), "512 bytes");
  EXPECT_EQ(bytes_in_words(std::int64_t{3} << 29), "1.5 GiB (1610612736 bytes)");
}

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
