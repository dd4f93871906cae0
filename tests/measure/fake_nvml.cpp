// SPDX-License-Identifier: Apache-2.0
//
// Replaces the driver's management library: one device, 0000:65:00.0, whose readings a test sets.
#include "tests/measure/fake_nvml.h"

#include <cstring>

using attnscope::measure::FakeNvml;

namespace {
FakeNvml state;
constexpr int success = 0, not_found = 6;
}  // namespace

extern "C" {

FakeNvml* fake_nvml() {
  return &state;
}
int nvmlInit_v2() {
  ++state.inits;
  return state.init_error;
}
int nvmlShutdown() {
  ++state.shutdowns;
  return success;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  if (std::strcmp(id, "0000:65:00.0") != 0) return not_found;
  *device = &state;
  return success;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = state.devices;
  return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= state.devices) return not_found;
  *device = &state;
  return success;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  *millijoules = state.millijoules;
  return state.energy_error;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  ++state.reads;
  *celsius = state.celsius;
  return state.temperature_error;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = state.milliwatts;
  return success;
}
int nvmlDeviceGetClockInfo(void*, int which, unsigned* megahertz) {
  *megahertz = which == 1 ? state.sm_megahertz : 1;
  return success;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = state.reasons;
  return success;
}
int nvmlDeviceGetViolationStatus(void*, int policy, unsigned long long* times) {
  times[0] = 0;
  times[1] = policy == 0 ? state.power_ns : state.heat_ns;
  return success;
}
int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  std::strncpy(version, "580.95.05", size);
  return success;
}
}
