// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/nvml_conditions.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/measure/fake_nvml.h"

namespace attnscope::measure {
namespace {

using testing::HasSubstr;

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
  /// One reading, whenever the last was.
  static Conditions read_once(NvmlConditions& sensors) {
    sensors.start();
    return sensors.since_start();
  }

  void* handle_;
};

constexpr const char* device = "0000:65:00.0";

TEST_F(Nvml, Readings_AreTheDevices) {
  NvmlConditions sensors(FAKE_NVML_LIBRARY, device);
  EXPECT_EQ(sensors.refusal(), "");
  EXPECT_EQ(sensors.driver_version(), "580.95.05");
  const Conditions conditions = read_once(sensors);
  EXPECT_EQ(conditions.clock_mhz, 1755);
  EXPECT_EQ(conditions.temperature_c, 61);
  EXPECT_FALSE(conditions.throttled);
}

TEST_F(Nvml, AReasonOfHeatOrPower_IsThrottled) {
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

TEST_F(Nvml, TimeSpentBelowTheClocksMeanwhile_IsThrottled_AndTimeBeforeIsNot) {
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

TEST_F(Nvml, AskedTwiceAtOnce_TheDeviceIsReadOnce) {
  NvmlConditions sensors(FAKE_NVML_LIBRARY, device);
  sensors.start();
  const int before = fake().reads;
  for (int i = 0; i < 1000; ++i) static_cast<void>(sensors.since_start());
  EXPECT_LT(fake().reads - before, 1000);
}

TEST_F(Nvml, AReadingThatFails_IsAbsentAndTheOthersStay) {
  fake().temperature_error = 3;
  NvmlConditions sensors(FAKE_NVML_LIBRARY, device);
  const Conditions conditions = read_once(sensors);
  EXPECT_EQ(conditions.temperature_c, std::nullopt);
  EXPECT_EQ(conditions.clock_mhz, 1755);
}

TEST_F(Nvml, UnknownDevice_NoLibrary_NoStart_AreReasonsAndNothingIsKnown) {
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

TEST_F(Nvml, WhatWasStarted_IsShutDown) {
  { const NvmlConditions sensors(FAKE_NVML_LIBRARY, device); }
  EXPECT_EQ(fake().inits, 1);
  EXPECT_EQ(fake().shutdowns, 1);
}

}  // namespace
}  // namespace attnscope::measure
