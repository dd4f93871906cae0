// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/nvml_conditions.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace attnscope::measure {
namespace {

// The used part of NVML's interface (nvml.h of the CUDA Toolkit; stable since version 5).
using Device = void*;  // nvmlDevice_t, which is opaque
constexpr int success = 0;
constexpr int temperature_of_gpu = 0;
constexpr int clock_of_sm = 1;
constexpr std::array<int, 2> policies{0, 1};  // power, thermal
// Software power cap; hardware slowdown, thermal and power brake; software thermal slowdown.
// Excluded: idle, a clock set by the user, or synchronised boost with other devices.
constexpr unsigned long long slowed_down = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

}  // namespace

struct NvmlConditions::Library {
  // Not in an unnamed namespace: g++ 14 fails with an internal error on a function with such a
  // parameter.
  struct ViolationTime {
    unsigned long long reference_us, violation_ns;
  };
  void* handle = nullptr;
  Device device = nullptr;
  bool initialised = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*find)(const char*, Device*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*violation)(Device, int, ViolationTime*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;

  template <typename Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
  }
};

NvmlConditions::NvmlConditions(const std::string& library, const std::string& pci_bus_id)
    : nvml_(std::make_unique<Library>()) {
  nvml_->handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml_->handle == nullptr) {
    const char* why = dlerror();
    refusal_ = fmt::format("the driver's library {} cannot be loaded ({})", library,
                           why == nullptr ? "no reason given" : why);
    return;
  }
  nvml_->load(nvml_->init, "nvmlInit_v2");
  nvml_->load(nvml_->shutdown, "nvmlShutdown");
  nvml_->load(nvml_->find, "nvmlDeviceGetHandleByPciBusId_v2");
  nvml_->load(nvml_->temperature, "nvmlDeviceGetTemperature");
  nvml_->load(nvml_->clock, "nvmlDeviceGetClockInfo");
  nvml_->load(nvml_->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  nvml_->load(nvml_->violation, "nvmlDeviceGetViolationStatus");
  nvml_->load(nvml_->driver, "nvmlSystemGetDriverVersion");
  if (nvml_->init == nullptr || nvml_->find == nullptr) {
    refusal_ = fmt::format("{} is not the driver's management library", library);
    return;
  }
  if (const int failed = nvml_->init(); failed != success) {
    refusal_ = fmt::format("the driver's management library does not start (error {})", failed);
    return;
  }
  nvml_->initialised = true;
  if (const int failed = nvml_->find(pci_bus_id.c_str(), &nvml_->device); failed != success) {
    refusal_ = fmt::format("the driver's management library does not know the device {} (error {})",
                           pci_bus_id, failed);
    nvml_->device = nullptr;
    return;
  }
  static_cast<void>(throttled_since_last());
}

NvmlConditions::~NvmlConditions() {
  if (nvml_->initialised && nvml_->shutdown != nullptr) nvml_->shutdown();
  if (nvml_->handle != nullptr) dlclose(nvml_->handle);
}

std::string NvmlConditions::driver_version() const {
  std::array<char, 80> version{};
  const bool reported =
      nvml_->initialised && nvml_->driver != nullptr &&
      nvml_->driver(version.data(), static_cast<unsigned>(version.size())) == success;
  return reported ? version.data() : "";
}

bool NvmlConditions::throttled_since_last() {
  bool throttled = false;
  for (std::size_t i = 0; i < policies.size() && nvml_->violation != nullptr; ++i) {
    Library::ViolationTime time{};
    if (nvml_->violation(nvml_->device, policies[i], &time) != success) continue;
    throttled |= time.violation_ns > std::exchange(violation_ns_[i], time.violation_ns);
  }
  // Devices without these counters report at least the current state.
  unsigned long long reasons = 0;
  if (nvml_->reasons != nullptr && nvml_->reasons(nvml_->device, &reasons) == success)
    throttled |= (reasons & slowed_down) != 0;
  return throttled;
}

Conditions NvmlConditions::read() {
  Conditions conditions;
  if (nvml_->device == nullptr) return conditions;
  unsigned value = 0;
  if (nvml_->clock != nullptr && nvml_->clock(nvml_->device, clock_of_sm, &value) == success)
    conditions.clock_mhz = value;
  if (nvml_->temperature != nullptr &&
      nvml_->temperature(nvml_->device, temperature_of_gpu, &value) == success)
    conditions.temperature_c = value;
  conditions.throttled = throttled_since_last();
  return conditions;
}

}  // namespace attnscope::measure
