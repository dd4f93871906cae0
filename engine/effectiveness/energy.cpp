// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/energy.h"

#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace attnscope::effectiveness {
namespace {

constexpr std::chrono::seconds between_looks(30);

std::optional<std::int64_t> microjoules_in(const std::filesystem::path& file) {
  std::int64_t value = 0;
  if (!(std::ifstream(file) >> value) || value < 0) return std::nullopt;
  return value;
}

}  // namespace

EnergyCounters::EnergyCounters(const std::filesystem::path& powercap) {
  std::error_code none;
  for (const auto& zone : std::filesystem::directory_iterator(powercap, none)) {
    // "intel-rapl:0" is a package (of AMD's, too), "intel-rapl:0:1" a part of it. Others count the
    // same once more.
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

void EnergyCounters::look() {
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

EnergyWatch::EnergyWatch(const std::filesystem::path& powercap)
    : counters_(powercap),
      thread_([this](const std::stop_token& stop) { look_from_time_to_time(stop); }) {}

void EnergyWatch::look_from_time_to_time(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    ended_.wait_for(lock, stop, between_looks, [] { return false; });
    counters_.look();
  }
}

Energy EnergyWatch::stop() {
  thread_.request_stop();
  thread_.join();
  counters_.look();
  return counters_.used();
}

}  // namespace attnscope::effectiveness
