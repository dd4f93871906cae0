#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The energy used by a machine's processors and memory, from Linux's counters (RAPL,
// /sys/class/powercap), and by its CUDA devices, from their driver's management library (NVML),
// which is loaded at run time. The counters cover the whole machine, including other processes.
// Many systems restrict RAPL to root: then the energy is unknown and not reported.
//
//   EnergyWatch watch;
//   compute();
//   Energy energy = watch.stop();   // energy.cpu_joules, where it is known

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace attnscope::effectiveness {

struct Energy {
  std::optional<double> cpu_joules = {};     // of all packages
  std::optional<double> memory_joules = {};  // of the memory (DRAM)
  std::optional<double> device_joules = {};  // of all CUDA devices
};

/// Measures energy since its construction.
class EnergyCounters {
 public:
  explicit EnergyCounters(const std::filesystem::path& powercap = "/sys/class/powercap");
  /// Adds the counters' increments. They wrap around after some 65 to 262 kJ, and several wraps
  /// between two updates cannot be detected: at 400 W, call this at least every 160 s.
  void update();
  /// Returns the energy up to the last update. If one counter of a kind cannot be read, that kind
  /// is unknown.
  [[nodiscard]] Energy used() const;

 private:
  struct Counter {
    std::filesystem::path file;
    bool is_of_memory = false;
    std::int64_t range_uj = 0;            // where it wraps around
    std::optional<std::int64_t> last_uj;  // empty: it cannot be read
    double used_uj = 0;
  };
  std::vector<Counter> counters_;
};

/// Measures the energy of all CUDA devices since its construction.
class DeviceEnergy {
 public:
  explicit DeviceEnergy(const std::string& library = "libnvidia-ml.so.1");
  DeviceEnergy(const DeviceEnergy&) = delete;
  DeviceEnergy& operator=(const DeviceEnergy&) = delete;
  ~DeviceEnergy();
  /// Empty without the library or a device, or if a device does not report its energy, as before
  /// Volta.
  [[nodiscard]] std::optional<double> joules() const;

 private:
  using Device = struct nvmlDevice_st*;
  [[nodiscard]] std::optional<double> joules_so_far() const;

  void* library_ = nullptr;
  int (*shutdown_)() = nullptr;
  int (*energy_)(Device, unsigned long long*) = nullptr;
  std::vector<Device> devices_;
  std::optional<double> before_;
};

/// Reads the counters in a thread of its own, often enough to detect every wrap.
class EnergyWatch {
 public:
  explicit EnergyWatch(const std::filesystem::path& powercap = "/sys/class/powercap",
                       const std::string& device_library = "libnvidia-ml.so.1");
  /// The energy since construction; call it once.
  [[nodiscard]] Energy stop();

 private:
  void update_regularly(const std::stop_token& stop);

  EnergyCounters counters_;
  DeviceEnergy devices_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace attnscope::effectiveness
