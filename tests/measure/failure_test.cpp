// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "engine/attention/cuda_runtime.h"

namespace attnscope::measure {
namespace {

using testing::HasSubstr;

/// Memory of a device that a fault may have taken away.
class MemoryOfADevice final : public HeatMemory {
 public:
  void* allocate(std::size_t bytes) override { return std::malloc(bytes); }
  void release(void* data) noexcept override { std::free(data); }
  void empty_cache() noexcept override { ++emptied; }
  void flush_from_caches() override {}
  void reset_peaks() override {}
  Counters counters() const override { return {}; }
  void set_limit(std::optional<std::int64_t>) override {}
  std::int64_t free_bytes() const override { return 0; }
  std::optional<std::string> lost() override { return reason; }

  std::optional<std::string> reason;
  int emptied = 0;
};

void fail_in_two_lines() {
  throw std::runtime_error("an illegal memory access\nsome advice");
}

TEST(Failure, OfADeviceThatStillWorks_EndsOnlyTheContender) {
  MemoryOfADevice memory;
  const auto failure = guarded(memory, fail_in_two_lines);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->status, CellStatus::crashed);
  EXPECT_EQ(memory.emptied, 1);
}

TEST(Failure, OfADeviceThatIsLost_IsThrownInOneLine_ThroughEveryGuard) {
  MemoryOfADevice memory;
  memory.reason = "unspecified launch failure";
  try {
    static_cast<void>(
        guarded(memory, [&] { static_cast<void>(guarded(memory, fail_in_two_lines)); }));
    FAIL() << "no exception";
  } catch (const cuda::DeviceLost& lost) {
    const std::string words = lost.what();
    EXPECT_THAT(words, HasSubstr("an illegal memory access; the device is lost"));
    EXPECT_THAT(words, HasSubstr("unspecified launch failure"));
    EXPECT_EQ(words.find('\n'), std::string::npos);
  }
}

TEST(Failure, WithoutAny_TheDeviceIsNotAsked) {
  MemoryOfADevice memory;
  memory.reason = "never looked at";
  EXPECT_FALSE(guarded(memory, [] {}).has_value());
}

}  // namespace
}  // namespace attnscope::measure
