// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>

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

TEST_F(Cores, WaitingIsThatOfAllThreads) {
  for (const char* thread : {"11", "12"}) {
    std::filesystem::create_directory(folder_ / thread);
    std::ofstream(folder_ / thread / "schedstat") << "900 70 5\n";
  }
  const OwnTimesMeter meter(folder_);
  EXPECT_EQ(meter.read().waited_ns, 140);
  std::ofstream(folder_ / "12/schedstat") << "1000 90 6\n";
  EXPECT_EQ(meter.read().waited_ns, 160);
  EXPECT_GT(meter.read().ran_ns, 0);
}

TEST(OwnTimes, AreAlsoThoseOfProcessesThatComputeForThisOne) {
  constexpr double burnt_ns = 3e7;
  const pid_t child = fork();
  if (child == 0) {
    timespec time{};
    while (static_cast<double>(time.tv_nsec) < burnt_ns)
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  const double alone_ns = OwnTimesMeter().read().ran_ns;
  const double both_ns = OwnTimesMeter("/proc/self/task", {child}).read().ran_ns;
  EXPECT_GE(both_ns, alone_ns + burnt_ns);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  // Of one that has ended there is nothing to add, and nothing to fail.
  EXPECT_LT(OwnTimesMeter("/proc/self/task", {child}).read().ran_ns, both_ns);
}

TEST_F(Cores, WhereTheSystemDoesNotCountIt_WaitingIsUnknown) {
  EXPECT_EQ(OwnTimesMeter(folder_ / "nothing").read().waited_ns, std::nullopt);
  std::filesystem::create_directory(folder_ / "11");
  std::ofstream(folder_ / "11/schedstat") << "0 0 0\n";
  EXPECT_EQ(OwnTimesMeter(folder_).read().waited_ns, std::nullopt);
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

constexpr const char* stat =
    "cpu  900 0 900 0 0 0 0 0 0 0\n"
    "cpu0 100 20 30 5000 400 1 2 3 50 0\n"
    "cpu1 200 0 0 5000 0 0 0 0 0 0\n"
    "cpu10 7 0 0 5000 0 0 0 0 0 0\n"
    "intr 12345\n";

double jiffies(double count) {
  return count / static_cast<double>(sysconf(_SC_CLK_TCK));
}

TEST(BusySeconds, LeavesOutIdleWaitingAndTheSumLine) {
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {0}), jiffies(100 + 20 + 30 + 1 + 2 + 3));
}

TEST(BusySeconds, CountsOnlyTheGivenCores) {
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {1, 10}), jiffies(207));
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {}), 0);
  EXPECT_DOUBLE_EQ(busy_seconds("", {0}), 0);
}

TEST(LoadMeter, ShortWindowStaysOpen_AndLoadIsNeverNegative) {
  LoadMeter meter;
  EXPECT_LT(LoadMeter().try_close(), 0);
  EXPECT_GE(meter.close(), 0);
}

TEST(AllowedCores, HoldAtLeastOne) {
  EXPECT_FALSE(allowed_cores().empty());
}

}  // namespace
}  // namespace attnscope::measure
