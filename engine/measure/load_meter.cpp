// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/load_meter.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

namespace attnscope::measure {
namespace {

constexpr auto shortest_window = std::chrono::milliseconds(100);

double own_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Jiffies of one "cpuN user nice system idle iowait irq softirq steal guest guest_nice" line that
/// somebody used; guest time is already part of user time.
double busy_jiffies(std::string_view fields) {
  double busy = 0;
  const char* at = fields.data();
  const char* const end = at + fields.size();
  for (int column = 0; column < 8; ++column) {
    while (at < end && *at == ' ') ++at;
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) break;
    if (column != 3 && column != 4) busy += static_cast<double>(value);  // idle, iowait
    at = next;
  }
  return busy;
}

}  // namespace

std::int64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

double busy_seconds(std::string_view proc_stat, const std::vector<int>& cores) {
  double jiffies = 0;
  std::size_t start = 0;
  while (start < proc_stat.size()) {
    const std::size_t end = std::min(proc_stat.find('\n', start), proc_stat.size());
    const std::string_view line = proc_stat.substr(start, end - start);
    start = end + 1;
    if (!line.starts_with("cpu")) continue;
    int core = -1;
    const auto [next, error] = std::from_chars(line.data() + 3, line.data() + line.size(), core);
    if (error != std::errc{} || std::find(cores.begin(), cores.end(), core) == cores.end())
      continue;
    jiffies += busy_jiffies(line.substr(static_cast<std::size_t>(next - line.data())));
  }
  return jiffies / static_cast<double>(sysconf(_SC_CLK_TCK));
}

LoadMeter::LoadMeter() : cores_(allowed_cores()), start_(read()) {}

LoadMeter::Reading LoadMeter::read() const {
  std::ifstream file("/proc/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return {Clock::now(), busy_seconds(text, cores_), own_seconds()};
}

double LoadMeter::try_close() {
  if (Clock::now() - start_.at < shortest_window) return -1;
  return close();
}

double LoadMeter::close() {
  const Reading now = read();
  const double seconds = std::chrono::duration<double>(now.at - start_.at).count();
  // A window shorter than the kernel's steps says nothing; the one before it still stands.
  if (seconds < 0.05) return last_;
  last_ = std::max(0.0, (now.busy - start_.busy - (now.own - start_.own)) / seconds);
  start_ = now;
  return last_;
}

}  // namespace attnscope::measure
