// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/conditions.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <stdexcept>

#include "tests/measure/fake_nvml.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::measure {
namespace {

using testing::HasSubstr;

Conditions read_once(ConditionsMeter& meter) {
  meter.start();
  return meter.since_start();
}

/// A folder of cores as in /sys, with the same values for all of them.
class Cores : public testing::Test {
 protected:
  void write(const std::string& file, std::int64_t value) const {
    for (const int core : allowed_cores()) {
      const auto path = folder_ / ("cpu" + std::to_string(core)) / file;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << value << "\n";
    }
  }
  const tests::ScratchFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path();
};

TEST_F(Cores, ClockInKilohertzIsReadFromCpufreqIfThereIsOne) {
  ProcessorConditions unknown(folder_, nullptr);
  EXPECT_EQ(read_once(unknown).clock_mhz, std::nullopt);
  EXPECT_FALSE(read_once(unknown).throttled);
  EXPECT_THAT(unknown.clock_source(), HasSubstr("none: "));
  write("cpufreq/scaling_cur_freq", 2'450'000);
  ProcessorConditions conditions(folder_, nullptr);
  EXPECT_EQ(read_once(conditions).clock_mhz, 2450);
  EXPECT_EQ(conditions.clock_source(), "cpufreq");
}

TEST_F(Cores, GrowingCountOfThermalEventsIsThrottling) {
  write("thermal_throttle/core_throttle_count", 7);
  write("thermal_throttle/package_throttle_count", 7);
  ProcessorConditions conditions(folder_, nullptr);
  EXPECT_FALSE(read_once(conditions).throttled);
  conditions.start();
  write("thermal_throttle/package_throttle_count", 8);
  EXPECT_TRUE(conditions.since_start().throttled);
  EXPECT_FALSE(read_once(conditions).throttled);
}

TEST_F(Cores, WaitingTimeIsTheSumOfAllThreadsIfTheSystemCountsIt) {
  EXPECT_EQ(OwnTimesMeter(folder_ / "nothing").read().waited_ns, std::nullopt);
  const auto write_thread = [&](const char* thread, const char* schedstat) {
    std::filesystem::create_directory(folder_ / thread);
    std::ofstream(folder_ / thread / "schedstat") << schedstat << "\n";
  };
  write_thread("11", "0 0 0");
  EXPECT_EQ(OwnTimesMeter(folder_).read().waited_ns, std::nullopt);
  write_thread("11", "900 70 5");
  write_thread("12", "900 70 5");
  const OwnTimesMeter meter(folder_);
  EXPECT_EQ(meter.read().waited_ns, 140);
  write_thread("12", "1000 90 6");
  EXPECT_EQ(meter.read().waited_ns, 160);
  EXPECT_GT(meter.read().ran_ns, 0);
}

TEST(OwnTimes, IncludeOtherComputingProcesses) {
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
  // A process that has ended adds nothing, and is no error.
  EXPECT_LT(OwnTimesMeter("/proc/self/task", {child}).read().ran_ns, both_ns);
}

TEST_F(Cores, CycleCounterCountsOrGivesAReason) {
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

TEST(BusySeconds, AreThoseOfTheGivenCoresWithoutIdleTime) {
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {0}), jiffies(100 + 20 + 30 + 1 + 2 + 3));
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {1, 10}), jiffies(207));
  EXPECT_DOUBLE_EQ(busy_seconds(stat, {}), 0);
  EXPECT_DOUBLE_EQ(busy_seconds("", {0}), 0);
}

TEST(LoadMeter, KeepsAShortWindowOpenAndIsNeverNegative) {
  LoadMeter meter;
  EXPECT_LT(LoadMeter().try_close(), 0);
  EXPECT_GE(meter.close(), 0);
  EXPECT_FALSE(allowed_cores().empty());
}

class Nvml : public testing::Test {
 protected:
  Nvml() : handle_(dlopen(FAKE_NVML_LIBRARY, RTLD_NOW)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    fake() = FakeNvml{};
  }
  ~Nvml() override { dlclose(handle_); }

  [[nodiscard]] FakeNvml& fake() const {
    return *reinterpret_cast<FakeNvml* (*)()>(dlsym(handle_, "fake_nvml"))();
  }

  void* handle_;
};

constexpr const char* device = "0000:65:00.0";

TEST_F(Nvml, ReadsTheDeviceAndShutsDown) {
  {
    NvmlConditions sensors(FAKE_NVML_LIBRARY, device);
    EXPECT_EQ(sensors.refusal(), "");
    EXPECT_EQ(sensors.driver_version(), "580.95.05");
    sensors.start();
    const int before = fake().reads;
    const Conditions conditions = sensors.since_start();
    EXPECT_EQ(conditions.clock_mhz, 1755);
    EXPECT_EQ(conditions.temperature_c, 61);
    EXPECT_EQ(conditions.power_w, 412.5);
    EXPECT_FALSE(conditions.throttled);
    for (int i = 0; i < 1000; ++i) static_cast<void>(sensors.since_start());
    EXPECT_LT(fake().reads - before, 1000) << "repeated requests read the device once";
  }
  EXPECT_EQ(fake().inits, 1);
  EXPECT_EQ(fake().shutdowns, 1);
}

TEST_F(Nvml, ReasonsOfHeatAndPowerAreThrottling) {
  NvmlConditions sensors(FAKE_NVML_LIBRARY, device);
  for (const unsigned long long reason : {0x4ULL, 0x8ULL, 0x20ULL, 0x40ULL, 0x80ULL}) {
    fake().reasons = reason;
    EXPECT_TRUE(read_once(sensors).throttled) << reason;
  }
  for (const unsigned long long reason : {0x1ULL, 0x2ULL, 0x10ULL, 0x100ULL}) {
    fake().reasons = reason;
    EXPECT_FALSE(read_once(sensors).throttled) << reason;
  }
}

TEST_F(Nvml, TimeAtReducedClocksIsThrottlingOnlyWithinTheWindow) {
  fake().power_ns = 5000;
  NvmlConditions sensors(FAKE_NVML_LIBRARY, device);
  EXPECT_FALSE(read_once(sensors).throttled);
  sensors.start();
  fake().heat_ns = 300;
  EXPECT_TRUE(sensors.since_start().throttled);
  EXPECT_FALSE(read_once(sensors).throttled);
  fake().power_ns += 1;
  sensors.start();  // what passed before a window belongs to no sample
  EXPECT_FALSE(sensors.since_start().throttled);
}

TEST_F(Nvml, FailedReadingsAreAbsentAndFailedStartsHaveReasons) {
  fake().temperature_error = 3;
  NvmlConditions sensors(FAKE_NVML_LIBRARY, device);
  EXPECT_EQ(read_once(sensors).temperature_c, std::nullopt);
  EXPECT_EQ(read_once(sensors).clock_mhz, 1755);
  NvmlConditions other(FAKE_NVML_LIBRARY, "0000:99:00.0");
  EXPECT_THAT(other.refusal(), HasSubstr("0000:99:00.0"));
  EXPECT_EQ(read_once(other).clock_mhz, std::nullopt);
  NvmlConditions missing("/nowhere/libnvidia-ml.so.1", device);
  EXPECT_THAT(missing.refusal(), HasSubstr("/nowhere/libnvidia-ml.so.1"));
  EXPECT_EQ(read_once(missing).temperature_c, std::nullopt);
  EXPECT_EQ(missing.driver_version(), "");
  fake().init_error = 9;
  NvmlConditions broken(FAKE_NVML_LIBRARY, device);
  EXPECT_THAT(broken.refusal(), HasSubstr("error 9"));
  EXPECT_FALSE(read_once(broken).throttled);
}

}  // namespace
}  // namespace attnscope::measure
