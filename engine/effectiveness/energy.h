#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The energy that a machine's processors and memory take, by the counters that Linux has of them
// (RAPL, /sys/class/powercap), and its CUDA devices, by their driver's management library (NVML),
// which is looked for when the program runs. They are of the whole machine, whoever computes on it.
// Many systems let nobody but root read the first: then nothing is known, and nothing is said.
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
  std::optional<double> memory_joules = {};  // of the memory beside them
  std::optional<double> device_joules = {};  // of all CUDA devices
};

/// Energy since it was made.
class EnergyCounters {
 public:
  explicit EnergyCounters(const std::filesystem::path& powercap = "/sys/class/powercap");
  /// Takes in what the counters have gone on by. They begin anew after some 65 to 262 kJ, and how
  /// often they did between two looks nobody can tell: at 400 W two are to be less than 160 s
  /// apart.
  void look();
  /// As of the last look. Where one counter of a kind cannot be read, that kind is not known.
  [[nodiscard]] Energy used() const;

 private:
  struct Counter {
    std::filesystem::path file;
    bool is_of_memory = false;
    std::int64_t range_uj = 0;            // where it begins anew
    std::optional<std::int64_t> last_uj;  // nothing: it cannot be read
    double used_uj = 0;
  };
  std::vector<Counter> counters_;
};

/// Energy of all CUDA devices since it was made.
class DeviceEnergy {
 public:
  explicit DeviceEnergy(const std::string& library = "libnvidia-ml.so.1");
  DeviceEnergy(const DeviceEnergy&) = delete;
  DeviceEnergy& operator=(const DeviceEnergy&) = delete;
  ~DeviceEnergy();
  /// Absent without the library or a device, and where one of them does not tell, as those before
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

/// Looks by itself, as often as has to be.
class EnergyWatch {
 public:
  explicit EnergyWatch(const std::filesystem::path& powercap = "/sys/class/powercap",
                       const std::string& device_library = "libnvidia-ml.so.1");
  /// Since it was made; to be called once.
  [[nodiscard]] Energy stop();

 private:
  void look_from_time_to_time(const std::stop_token& stop);

  EnergyCounters counters_;
  DeviceEnergy devices_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace attnscope::effectiveness
