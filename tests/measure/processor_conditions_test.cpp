// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/processor_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/measure/load_meter.h"

namespace attnscope::measure {
namespace {

using testing::HasSubstr;

/// A folder as the system shows its cores, with the same values for all of them.
class Cores : public testing::Test {
 protected:
  Cores() {
    std::string name = testing::TempDir() + "attnscope-cores-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Cores() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& file, std::int64_t value) const {
    for (const int core : allowed_cores()) {
      const auto path = folder_ / ("cpu" + std::to_string(core)) / file;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << value << "\n";
    }
  }
  static Conditions read_once(ProcessorConditions& conditions) {
    conditions.start();
    return conditions.since_start();
  }

  std::filesystem::path folder_;
};

TEST_F(Cores, WithoutAnySource_TheClockIsUnknownAndTheReasonIsSaid) {
  ProcessorConditions conditions(folder_, nullptr);
  EXPECT_EQ(read_once(conditions).clock_mhz, std::nullopt);
  EXPECT_FALSE(read_once(conditions).throttled);
  EXPECT_THAT(conditions.clock_source(), HasSubstr("none: "));
}

TEST_F(Cores, CpufreqsKilohertz_BecomeMegahertz) {
  write("cpufreq/scaling_cur_freq", 2'450'000);
  ProcessorConditions conditions(folder_, nullptr);
  EXPECT_EQ(read_once(conditions).clock_mhz, 2450);
  EXPECT_EQ(conditions.clock_source(), "cpufreq");
}

TEST_F(Cores, ACountOfThermalEventsThatGrows_IsThrottled) {
  write("thermal_throttle/core_throttle_count", 7);
  write("thermal_throttle/package_throttle_count", 7);
  ProcessorConditions conditions(folder_, nullptr);
  EXPECT_FALSE(read_once(conditions).throttled);
  conditions.start();
  write("thermal_throttle/package_throttle_count", 8);
  EXPECT_TRUE(conditions.since_start().throttled);
  EXPECT_FALSE(read_once(conditions).throttled);
}

TEST_F(Cores, TheCycleCounter_CountsOrSaysWhyNot) {
  CycleCounter counter;
  ProcessorConditions conditions(folder_, &counter);
  if (counter.refusal().empty()) {
    EXPECT_EQ(conditions.clock_source(), "cycle counter");
    conditions.start();
    volatile double sink = 0;
    for (int i = 0; i < 1'000'000; ++i) sink = sink + 1;
    const Conditions after = conditions.since_start();
    ASSERT_TRUE(after.clock_mhz);
    EXPECT_GT(*after.clock_mhz, 0);
  } else {
    EXPECT_THAT(conditions.clock_source(), HasSubstr(counter.refusal()));
    EXPECT_EQ(read_once(conditions).clock_mhz, std::nullopt);
  }
}

}  // namespace
}  // namespace attnscope::measure
