// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/conditions.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/sentences.h"

namespace attnscope::measure {
namespace {

class Unknown final : public ConditionsMeter {
  [[nodiscard]] Conditions read() override { return {}; }
};

std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
  std::int64_t number = 0;
  if (std::ifstream(file) >> number) return number;
  return std::nullopt;
}

std::filesystem::path core_folder(const std::filesystem::path& cores, int core) {
  return cores / fmt::format("cpu{}", core);
}

std::filesystem::path frequency_file(const std::filesystem::path& cores) {
  return core_folder(cores, std::max(sched_getcpu(), 0)) / "cpufreq/scaling_cur_freq";
}

constexpr auto shortest_load_window = std::chrono::milliseconds(100);

double seconds_of(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// CPU time of this process and of these; 0 for one that has ended.
double own_seconds(const std::vector<pid_t>& others) {
  double seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  for (const pid_t other : others) {
    clockid_t clock{};
    if (clock_getcpuclockid(other, &clock) == 0) seconds += seconds_of(clock);
  }
  return seconds;
}

/// Busy jiffies of one "cpuN user nice system idle iowait irq softirq steal guest guest_nice" line;
/// guest time is already part of user time.
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

void ConditionsMeter::start() {
  // The time since the last reading belongs to work between placements, not to a sample.
  static_cast<void>(read());
  answered_.reset();
}

Conditions ConditionsMeter::since_start() {
  const auto now = Clock::now();
  if (answered_ && now - *answered_ < shortest_window) return last_;
  last_ = read();
  answered_ = now;
  return last_;
}

ConditionsMeter& unknown_conditions() {
  static Unknown unknown;
  return unknown;
}

CycleCounter::CycleCounter() {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = PERF_COUNT_HW_CPU_CYCLES;
  wanted.exclude_kernel = 1;  // permitted to all users up to kernel.perf_event_paranoid = 2
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int this_thread = 0, any_core = -1, no_group = -1;
  descriptor_ = static_cast<int>(
      syscall(SYS_perf_event_open, &wanted, this_thread, any_core, no_group, PERF_FLAG_FD_CLOEXEC));
  if (descriptor_ < 0) refusal_ = system_reason(errno);
}

CycleCounter::~CycleCounter() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<double> CycleCounter::megahertz() {
  struct {
    std::uint64_t cycles, running_ns;
  } now{};
  if (descriptor_ < 0 || ::read(descriptor_, &now, sizeof now) != sizeof now) return std::nullopt;
  const std::uint64_t cycles = now.cycles - std::exchange(cycles_, now.cycles);
  const std::uint64_t running = now.running_ns - std::exchange(running_ns_, now.running_ns);
  if (cycles == 0 || running == 0) return std::nullopt;
  return static_cast<double>(cycles) / static_cast<double>(running) * 1000;
}

ProcessorConditions::ProcessorConditions(std::filesystem::path cores, CycleCounter* counter)
    : cores_(std::move(cores)), counter_(counter) {
  for (const int core : allowed_cores()) {
    for (const char* scope : {"core_throttle_count", "package_throttle_count"}) {
      auto file = core_folder(cores_, core) / "thermal_throttle" / scope;
      if (std::filesystem::exists(file)) throttle_files_.push_back(std::move(file));
    }
  }
  throttle_events_ = throttle_events();
}

std::string ProcessorConditions::clock_source() const {
  if (counter_ != nullptr && counter_->refusal().empty()) return "cycle counter";
  if (number_in(frequency_file(cores_))) return "cpufreq";
  return fmt::format("none: no cycle counter ({}) and no cpufreq",
                     counter_ == nullptr ? "not requested" : counter_->refusal());
}

std::optional<double> ProcessorConditions::clock_mhz() {
  if (counter_ != nullptr && counter_->refusal().empty()) return counter_->megahertz();
  const auto kilohertz = number_in(frequency_file(cores_));
  if (!kilohertz) return std::nullopt;
  return static_cast<double>(*kilohertz) / 1000;
}

std::int64_t ProcessorConditions::throttle_events() const {
  std::int64_t events = 0;
  for (const auto& file : throttle_files_) events += number_in(file).value_or(0);
  return events;
}

Conditions ProcessorConditions::read() {
  const std::int64_t events = throttle_events();
  return {.clock_mhz = clock_mhz(),
          .temperature_c = {},
          .throttled = events > std::exchange(throttle_events_, events)};
}

ProcessorConditions& processor_conditions() {
  static CycleCounter counter;
  static ProcessorConditions conditions("/sys/devices/system/cpu", &counter);
  return conditions;
}

OwnTimesMeter::OwnTimesMeter(const std::filesystem::path& threads, std::vector<pid_t> others)
    : others_(std::move(others)) {
  add_threads(threads);
  for (const pid_t other : others_) add_threads(fmt::format("/proc/{}/task", other));
}

void OwnTimesMeter::add_threads(const std::filesystem::path& folder) {
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(folder, gone)) {
    const int file = open((thread.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) schedstats_.push_back(file);
  }
}

OwnTimesMeter::~OwnTimesMeter() {
  for (const int file : schedstats_) close(file);
}

OwnTimes OwnTimesMeter::read() const {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  OwnTimes times{.involuntary_switches = usage.ru_nivcsw, .ran_ns = own_seconds(others_) * 1e9};
  for (const int file : schedstats_) {
    // "ran waited slices", the first two in ns; empty for a thread that has ended.
    std::array<char, 96> text{};
    const ssize_t length = pread(file, text.data(), text.size() - 1, 0);
    if (length <= 0) continue;
    const char* const end = text.data() + length;
    std::int64_t ran = 0, waited = 0;
    const auto [next, error] = std::from_chars(text.data(), end, ran);
    if (error != std::errc{} || next == end || ran <= 0) continue;  // the system does not count
    if (std::from_chars(next + 1, end, waited).ec == std::errc{})
      times.waited_ns = times.waited_ns.value_or(0) + static_cast<double>(waited);
  }
  return times;
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
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

LoadMeter::LoadMeter(std::vector<pid_t> own)
    : cores_(allowed_cores()), own_(std::move(own)), start_(read()) {}

LoadMeter::Reading LoadMeter::read() const {
  std::ifstream file("/proc/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return {Clock::now(), busy_seconds(text, cores_), own_seconds(own_)};
}

double LoadMeter::try_close() {
  if (Clock::now() - start_.at < shortest_load_window) return -1;
  return close();
}

double LoadMeter::close() {
  const Reading now = read();
  const double seconds = std::chrono::duration<double>(now.at - start_.at).count();
  // A window shorter than the kernel's steps has no information; the last value remains valid.
  if (seconds < 0.05) return last_;
  last_ = std::max(0.0, (now.busy - start_.busy - (now.own - start_.own)) / seconds);
  start_ = now;
  return last_;
}

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
  int (*power)(Device, unsigned*) = nullptr;
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
  nvml_->load(nvml_->power, "nvmlDeviceGetPowerUsage");
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
  constexpr double milliwatts = 1e3;
  if (nvml_->power != nullptr && nvml_->power(nvml_->device, &value) == success)
    conditions.power_w = value / milliwatts;
  conditions.throttled = throttled_since_last();
  return conditions;
}

}  // namespace attnscope::measure
