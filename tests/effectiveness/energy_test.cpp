// SPDX-License-Identifier: Apache-2.0
//
// A folder in place of /sys/class/powercap.
#include "engine/effectiveness/energy.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/measure/fake_nvml.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::effectiveness {
namespace {

class FakeCounters : public ::testing::Test {
 protected:
  void zone(const std::string& folder, const std::string& name, std::int64_t energy_uj) const {
    std::filesystem::create_directory(folder_ / folder);
    tests::write_bytes(folder_ / folder / "name", name + "\n");
    tests::write_bytes(folder_ / folder / "max_energy_range_uj", "1000000000\n");
    set(folder, energy_uj);
  }
  void set(const std::string& folder, std::int64_t energy_uj) const {
    tests::write_bytes(folder_ / folder / "energy_uj", std::to_string(energy_uj) + "\n");
  }

  tests::ScratchFolder folder_;
};

TEST_F(FakeCounters, OnlyPackagesAndMemoryAreAddedUp) {
  zone("intel-rapl:0", "package-0", 5'000'000);
  zone("intel-rapl:0:0", "core", 0);
  zone("intel-rapl:0:1", "dram", 0);
  zone("intel-rapl:1", "package-1", 0);
  zone("intel-rapl:2", "psys", 0);
  zone("intel-rapl-mmio:0", "package-0", 0);
  EnergyCounters counters(folder_.path());
  EXPECT_EQ(counters.used().cpu_joules, 0.0);
  set("intel-rapl:0", 7'500'000);
  set("intel-rapl:1", 1'000'000);
  for (const char* other : {"intel-rapl:0:0", "intel-rapl:2", "intel-rapl-mmio:0"})
    set(other, 90'000'000);
  set("intel-rapl:0:1", 250'000);
  counters.update();
  EXPECT_EQ(counters.used().cpu_joules, 3.5);
  EXPECT_EQ(counters.used().memory_joules, 0.25);
}

TEST_F(FakeCounters, AWrappedCounterContinues) {
  zone("intel-rapl:0", "package-0", 999'000'000);
  EnergyCounters counters(folder_.path());
  set("intel-rapl:0", 500'000);
  counters.update();
  EXPECT_EQ(counters.used().cpu_joules, 1.5);
  set("intel-rapl:0", 1'500'000);
  counters.update();
  EXPECT_EQ(counters.used().cpu_joules, 2.5);
}

TEST_F(FakeCounters, UnreadableCountersAreUnknown) {
  EXPECT_FALSE(EnergyCounters(folder_.path()).used().cpu_joules);
  EXPECT_FALSE(EnergyCounters(folder_ / "none").used().cpu_joules);
  zone("intel-rapl:0", "package-0", 1);
  zone("intel-rapl:1", "package-1", 1);
  EnergyCounters counters(folder_.path());
  EXPECT_TRUE(counters.used().cpu_joules);
  EXPECT_FALSE(counters.used().memory_joules);
  std::filesystem::remove(folder_ / "intel-rapl:1" / "energy_uj");
  counters.update();
  EXPECT_FALSE(counters.used().cpu_joules) << "half of the packages is not the machine";
  set("intel-rapl:1", 2);
  counters.update();
  EXPECT_FALSE(counters.used().cpu_joules) << "the energy used meanwhile is unknown";
}

TEST_F(FakeCounters, AWrapOfUnknownRange_IsUnknown) {
  zone("intel-rapl:0", "package-0", 1'000);
  tests::write_bytes(folder_ / "intel-rapl:0" / "max_energy_range_uj", "");
  EnergyCounters counters(folder_.path());
  set("intel-rapl:0", 1);
  counters.update();
  EXPECT_FALSE(counters.used().cpu_joules);
}

TEST_F(FakeCounters, AWatchReadsOnceMoreWhenItIsStopped) {
  zone("intel-rapl:0", "package-0", 0);
  EnergyWatch watch(folder_.path());
  set("intel-rapl:0", 2'000'000);
  EXPECT_EQ(watch.stop().cpu_joules, 2.0);
}

/// The fake library; it keeps its state while it is loaded.
class FakeDevices : public ::testing::Test {
 protected:
  FakeDevices() {
    state_ = reinterpret_cast<measure::FakeNvml* (*)()>(dlsym(library_, "fake_nvml"))();
    *state_ = {};
  }
  ~FakeDevices() override { dlclose(library_); }

  void* library_ = dlopen(FAKE_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  measure::FakeNvml* state_;
};

TEST_F(FakeDevices, EnergyIsTheSumOfAllDevices) {
  state_->devices = 2;
  state_->millijoules = 5'000'000;
  {
    const tests::ScratchFolder no_counters;
    EnergyWatch watch(no_counters.path(), FAKE_NVML_LIBRARY);
    state_->millijoules += 1'250;
    const Energy energy = watch.stop();
    EXPECT_EQ(energy.device_joules, 2.5);
    EXPECT_FALSE(energy.cpu_joules);
  }
  EXPECT_EQ(state_->inits, state_->shutdowns);
}

TEST_F(FakeDevices, MissingDeviceReadingsAreUnknown) {
  EXPECT_FALSE(DeviceEnergy("/nowhere/libnvidia-ml.so.1").joules());
  state_->devices = 0;
  EXPECT_FALSE(DeviceEnergy(FAKE_NVML_LIBRARY).joules());
  state_->devices = 1;
  {
    const DeviceEnergy energy(FAKE_NVML_LIBRARY);
    EXPECT_EQ(energy.joules(), 0.0);
    state_->energy_error = 3;  // not supported
    EXPECT_FALSE(energy.joules());
  }
  EXPECT_FALSE(DeviceEnergy(FAKE_NVML_LIBRARY).joules());
  state_->init_error = 9;  // no driver
  EXPECT_FALSE(DeviceEnergy(FAKE_NVML_LIBRARY).joules());
}

}  // namespace
}  // namespace attnscope::effectiveness
