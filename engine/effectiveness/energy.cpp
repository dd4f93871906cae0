// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/energy.h"

#include <dlfcn.h>

#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace attnscope::effectiveness {
namespace {

constexpr std::chrono::seconds update_interval(30);
constexpr int nvml_success = 0;

template <typename Function>
void load_function(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

std::optional<std::int64_t> microjoules_in(const std::filesystem::path& file) {
  std::int64_t value = 0;
  if (!(std::ifstream(file) >> value) || value < 0) return std::nullopt;
  return value;
}

}  // namespace

EnergyCounters::EnergyCounters(const std::filesystem::path& powercap) {
  std::error_code none;
  for (const auto& zone : std::filesystem::directory_iterator(powercap, none)) {
    // "intel-rapl:0" is a package (on AMD too), "intel-rapl:0:1" a part of it. Other zones count
    // the same energy again.
    if (!zone.path().filename().string().starts_with("intel-rapl:")) continue;
    std::string name;
    std::ifstream(zone.path() / "name") >> name;
    const bool is_of_memory = name == "dram";
    if (!is_of_memory && !name.starts_with("package")) continue;
    counters_.push_back(
        {.file = zone.path() / "energy_uj",
         .is_of_memory = is_of_memory,
         .range_uj = microjoules_in(zone.path() / "max_energy_range_uj").value_or(0),
         .last_uj = microjoules_in(zone.path() / "energy_uj")});
  }
}

void EnergyCounters::update() {
  for (Counter& counter : counters_) {
    if (!counter.last_uj) continue;
    const auto now = microjoules_in(counter.file);
    const std::int64_t before = *std::exchange(counter.last_uj, now);
    if (!now) continue;
    const bool began_anew = *now < before;
    if (began_anew && counter.range_uj < before) {
      counter.last_uj.reset();
      continue;
    }
    counter.used_uj += static_cast<double>(*now - before + (began_anew ? counter.range_uj : 0));
  }
}

Energy EnergyCounters::used() const {
  Energy energy;
  for (const bool of_memory : {false, true}) {
    double joules = 0;
    bool is_known = false, is_lost = false;
    for (const Counter& counter : counters_) {
      if (counter.is_of_memory != of_memory) continue;
      is_known = true;
      is_lost |= !counter.last_uj;
      joules += counter.used_uj / 1e6;
    }
    if (is_known && !is_lost) (of_memory ? energy.memory_joules : energy.cpu_joules) = joules;
  }
  return energy;
}

DeviceEnergy::DeviceEnergy(const std::string& library)
    : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) return;
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*find)(unsigned, Device*) = nullptr;
  load_function(library_, init, "nvmlInit_v2");
  load_function(library_, count, "nvmlDeviceGetCount_v2");
  load_function(library_, find, "nvmlDeviceGetHandleByIndex_v2");
  load_function(library_, energy_, "nvmlDeviceGetTotalEnergyConsumption");
  unsigned devices = 0;
  if (init == nullptr || count == nullptr || find == nullptr || init() != nvml_success) return;
  load_function(library_, shutdown_, "nvmlShutdown");
  if (count(&devices) != nvml_success) return;
  for (unsigned i = 0; i < devices; ++i) {
    Device& device = devices_.emplace_back();
    if (find(i, &device) != nvml_success) device = nullptr;
  }
  before_ = joules_so_far();
}

DeviceEnergy::~DeviceEnergy() {
  if (shutdown_ != nullptr) shutdown_();
  if (library_ != nullptr) dlclose(library_);
}

std::optional<double> DeviceEnergy::joules_so_far() const {
  if (devices_.empty() || energy_ == nullptr) return std::nullopt;
  double joules = 0;
  for (Device device : devices_) {
    unsigned long long millijoules = 0;
    if (device == nullptr || energy_(device, &millijoules) != nvml_success) return std::nullopt;
    joules += static_cast<double>(millijoules) / 1e3;
  }
  return joules;
}

std::optional<double> DeviceEnergy::joules() const {
  const std::optional<double> now = joules_so_far();
  return now && before_ ? std::optional(*now - *before_) : std::nullopt;
}

EnergyWatch::EnergyWatch(const std::filesystem::path& powercap, const std::string& device_library)
    : counters_(powercap),
      devices_(device_library),
      thread_([this](const std::stop_token& stop) { update_regularly(stop); }) {}

void EnergyWatch::update_regularly(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    ended_.wait_for(lock, stop, update_interval, [] { return false; });
    counters_.update();
  }
}

Energy EnergyWatch::stop() {
  thread_.request_stop();
  thread_.join();
  counters_.update();
  Energy energy = counters_.used();
  energy.device_joules = devices_.joules();
  return energy;
}

}  // namespace attnscope::effectiveness
