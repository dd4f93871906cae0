// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/machine.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/build_info.h"
#include "engine/measure/conditions.h"
#include "kernels/cpu/instruction_set.h"

namespace attnscope::measure {
namespace {

using nlohmann::json;

/// A file without trailing newlines; empty if it is missing.
std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The value of the first "key<separator>value" line, without surrounding blanks and quotes.
std::string value_of(std::string_view text, std::string_view key, char separator) {
  std::string value;
  for_each_line(text, [&](std::string_view line) {
    const std::size_t at = line.find(separator);
    if (!value.empty() || at == std::string_view::npos || !line.starts_with(key)) return;
    std::string_view found = line.substr(at + 1);
    while (!found.empty() && (found.front() == ' ' || found.front() == '"')) found.remove_prefix(1);
    while (!found.empty() && (found.back() == ' ' || found.back() == '"')) found.remove_suffix(1);
    value = found;
  });
  return value;
}

json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

/// First line of a small file; null if the file is missing.
json first_line_of(const std::string& path) {
  const std::string text = read_text(path);
  return text_or_null(text.substr(0, text.find('\n')));
}

/// "1" and "0" of a switch in /sys as a boolean, or inverted; null if the file is missing.
json truth(const char* path, std::string_view yes = "1") {
  const json line = first_line_of(path);
  return line.is_null() ? line : json(line.get<std::string>() == yes);
}

json runs_under_hypervisor(const std::string& cpuinfo) {
  const std::string flags = value_of(cpuinfo, "flags", ':');
  if (flags.empty()) return nullptr;
  return fmt::format(" {} ", flags).find(" hypervisor ") != std::string::npos;
}

json instruction_sets() {
  json sets = json::array();
  for (const cpu::InstructionSet set : cpu::available_sets()) sets.push_back(cpu::name_of(set));
  return sets;
}

/// Cache sizes of the first core: {"L1 Data":"48K", ...}.
json caches() {
  json found = json::object();
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = read_text(folder + "level");
    if (level.empty()) break;
    found[fmt::format("L{} {}", level, read_text(folder + "type"))] = read_text(folder + "size");
  }
  return found;
}

/// A frequency file's kHz as MHz; null if the system does not report it.
json megahertz(const std::string& name) {
  const std::string text = read_text("/sys/devices/system/cpu/cpu0/cpufreq/" + name);
  double kilohertz = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kilohertz);
  if (error != std::errc{} || end == text.data()) return nullptr;
  return kilohertz / 1000;
}

/// The instruction set of the kernels; null when ATTNSCOPE_ISA names none that can run here.
json selected_instruction_set() {
  const auto selected = cpu::selected_set();
  return selected ? json(cpu::name_of(*selected)) : json(nullptr);
}

/// Whether the processor may exceed its nominal frequency; null if unknown.
json turbo() {
  const json allowed = truth("/sys/devices/system/cpu/cpufreq/boost");
  return allowed.is_null() ? truth("/sys/devices/system/cpu/intel_pstate/no_turbo", "0") : allowed;
}

// Removes folders, because exports include the provenance and must not reveal a user's folders.
std::vector<std::string> file_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const std::string& path : paths) {
    names.push_back(std::filesystem::path(path).filename().string());
  }
  return names;
}

// Prefixes of variables read by OpenMP runtimes, BLAS libraries, LibTorch, CUDA, the C library's
// allocator and loader, or this program.
constexpr std::array<std::string_view, 19> prefixes{
    "OMP_",   "GOMP_",   "KMP_",    "MKL_",     "DNNL_",     "ONEDNN_", "OPENBLAS_",
    "GOTO_",  "BLIS_",   "ATEN_",   "TORCH_",   "PYTORCH_",  "CUDA_",   "CUBLAS",
    "CUDNN_", "NVIDIA_", "MALLOC_", "JEMALLOC", "ATTNSCOPE_"};
constexpr std::array<std::string_view, 4> names{"GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_ARENA_MAX",
                                                "TCMALLOC_SAMPLE_PARAMETER"};

bool matters(std::string_view name) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); }) ||
         std::ranges::find(names, name) != names.end();
}

/// "/home/a/libx.so:/opt/y" -> "libx.so:y".
std::string without_folders(std::string_view value) {
  std::string kept;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(": ,;="), value.size());
    const std::string_view word = value.substr(0, end);
    const std::size_t slash = word.starts_with('/') ? word.find_last_of('/') : std::string::npos;
    kept += slash == std::string_view::npos ? word : word.substr(slash + 1);
    if (end < value.size()) kept += value[end];
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return kept;
}

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return unlimited;  // v1 uses 2^63 and more for no limit
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* inactive_key;  // reclaimable page cache, which the kernel counts as usage
};

struct Limits {
  std::int64_t limit = unlimited;
  std::int64_t left = unlimited;
};

/// Visits a control group and all its ancestors: the lowest limit applies.
void tighten(Limits& limits, const std::filesystem::path& mount, std::filesystem::path group,
             const GroupFiles& files) {
  while (true) {
    const std::filesystem::path folder = mount / group.relative_path();
    const auto limit = parse_number(read_text(folder / files.limit));  // "max" is no number
    const auto usage = parse_number(read_text(folder / files.usage));
    if (limit && usage && *limit < unlimited / 2) {
      const std::int64_t reclaimable =
          parse_number(value_of(read_text(folder / "memory.stat"), files.inactive_key, ' '))
              .value_or(0);
      limits.limit = std::min(limits.limit, *limit);
      limits.left = std::min(limits.left, *limit - std::max<std::int64_t>(*usage - reclaimable, 0));
    }
    if (!group.has_relative_path()) return;
    group = group.parent_path();
  }
}

Limits group_limits() {
  Limits limits;
  std::ifstream memberships("/proc/self/cgroup");
  for (std::string line; std::getline(memberships, line);) {
    // "hierarchy:controllers:/path"; version 2 has an empty list of controllers.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::filesystem::path group = line.substr(second + 1);
    if (controllers.empty())
      tighten(limits, "/sys/fs/cgroup", group, {"memory.max", "memory.current", "inactive_file "});
    if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      tighten(limits, "/sys/fs/cgroup/memory", group,
              {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "});
    }
  }
  return limits;
}

/// Limit of `ulimit -v`: on all mapped memory, touched or not.
Limits address_space() {
  rlimit most{};
  if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur >= unlimited) return {};
  const std::string statm = read_text("/proc/self/statm");
  const std::int64_t mapped = parse_number(statm).value_or(0) * sysconf(_SC_PAGESIZE);
  const auto limit = static_cast<std::int64_t>(most.rlim_cur);
  return {.limit = limit, .left = limit - mapped};
}

/// Supported since Linux 4.0; containers may refuse it.
bool forget_peaks() {
  std::ofstream file("/proc/self/clear_refs");
  constexpr const char* resident_peak = "5";
  return static_cast<bool>(file << resident_peak << std::flush);
}

}  // namespace

std::vector<std::string> openmp_runtimes(std::string_view maps) {
  std::vector<std::string> runtimes;
  for_each_line(maps, [&](std::string_view line) {
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos) return;
    const std::string path(line.substr(slash));
    const std::string file = std::filesystem::path(path).filename();
    const bool runtime = file.starts_with("libgomp") || file.starts_with("libomp.") ||
                         file.starts_with("libomp-") || file.starts_with("libiomp5");
    if (runtime && std::find(runtimes.begin(), runtimes.end(), path) == runtimes.end())
      runtimes.push_back(path);
  });
  return runtimes;
}

std::vector<std::string> mapped_openmp_runtimes() {
  return openmp_runtimes(read_text("/proc/self/maps"));
}

json describe_machine() {
  const std::string cpuinfo = read_text("/proc/cpuinfo");
  std::string name = value_of(cpuinfo, "model name", ':');
  if (name.empty()) name = "unknown processor";
  utsname system{};
  uname(&system);
  return {{"kind", "cpu"},
          {"name", name},
          {"cores", allowed_cores().size()},
          {"memory_bytes", total_memory_bytes()},
          {"available_bytes", available_memory_bytes()},
          {"host", system.nodename},
          {"boot_id", first_line_of("/proc/sys/kernel/random/boot_id")},
          {"architecture", system.machine},
          {"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"system", text_or_null(value_of(read_text("/etc/os-release"), "PRETTY_NAME", '='))},
          {"instruction_sets", instruction_sets()},
          {"instruction_set", selected_instruction_set()},
          {"caches", caches()},
          {"governor", first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
          {"scaling_driver", first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver")},
          {"turbo", turbo()},
          {"clock_source", processor_conditions().clock_source()},
          {"maximum_mhz", megahertz("cpuinfo_max_freq")},
          {"current_mhz", megahertz("scaling_cur_freq")},
          {"huge_pages", first_line_of("/sys/kernel/mm/transparent_hugepage/enabled")},
          {"affinity", core_ranges(allowed_cores())},
          {"smt", truth("/sys/devices/system/cpu/smt/active")},
          {"microcode", text_or_null(value_of(cpuinfo, "microcode", ':'))},
          {"hypervisor", runs_under_hypervisor(cpuinfo)},
          {"cpu_quota", first_line_of("/sys/fs/cgroup/cpu.max")},
          {"load", first_line_of("/proc/loadavg")},
          {"nvidia_driver", first_line_of("/proc/driver/nvidia/version")},
          {"c_library", fmt::format("glibc {}", gnu_get_libc_version())},
          {"environment", relevant_settings(environ)}};
}

json describe_build() {
  return {{"version", ATTNSCOPE_VERSION},
          {"commit", ATTNSCOPE_GIT_COMMIT},
          {"dirty", ATTNSCOPE_GIT_DIRTY != 0},
          {"compiler", ATTNSCOPE_COMPILER},
          {"flags", ATTNSCOPE_FLAGS},
          {"build_type", ATTNSCOPE_BUILD_TYPE},
          {"libtorch", TORCH_VERSION},
          {"libtorch_parallel", at::get_parallel_info()},
          {"libtorch_config", at::show_config()},
          {"blas", at::get_mkl_version()},
          {"onednn", at::get_mkldnn_version()},
          {"libtorch_instruction_set", at::get_cpu_capability()},
          // BlockCache (heat_device.h); an include of it would be circular.
          {"allocator",
           "counting and caching, 64-byte aligned; from 2 MiB on aligned to 2 MiB, huge pages "
           "advised"},
          {"openmp", file_names(mapped_openmp_runtimes())}};
}

std::string core_ranges(std::span<const int> cores) {
  std::string text;
  for (std::size_t begin = 0; begin < cores.size();) {
    std::size_t end = begin + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cores[begin]);
    if (end - begin > 1) text += fmt::format("-{}", cores[end - 1]);
    begin = end;
  }
  return text;
}

json relevant_settings(const char* const* environment) {
  json settings = json::object();
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || !matters(entry.substr(0, equals))) continue;
    settings[std::string(entry.substr(0, equals))] = without_folders(entry.substr(equals + 1));
  }
  return settings;
}

void set_threads(int threads) {
  at::set_num_threads(threads);
  omp_set_num_threads(threads);
}

std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view key) {
  const std::string start = std::string(key) + ":";
  std::size_t at = meminfo.starts_with(start) ? 0 : meminfo.find("\n" + start);
  if (at == std::string_view::npos) return std::nullopt;
  at = meminfo.find_first_of("0123456789", meminfo.find(':', at));
  if (at == std::string_view::npos) return std::nullopt;
  const auto kibibytes = parse_number(meminfo.substr(at));
  if (!kibibytes) return std::nullopt;
  return *kibibytes * 1024;
}

std::int64_t available_memory_bytes() {
  const std::string meminfo = read_text("/proc/meminfo");
  const Limits groups = group_limits();
  const std::int64_t available = meminfo_bytes(meminfo, "MemAvailable").value_or(0);
  const std::int64_t total =
      std::min(meminfo_bytes(meminfo, "MemTotal").value_or(available), groups.limit);
  const std::int64_t margin = std::clamp(total / 20, 128 * mib, 1024 * mib);
  const std::int64_t left = std::min({available, groups.left, address_space().left});
  return std::max<std::int64_t>(left - margin, 0);
}

std::int64_t total_memory_bytes() {
  const std::string meminfo = read_text("/proc/meminfo");
  return std::min({meminfo_bytes(meminfo, "MemTotal").value_or(0), group_limits().limit,
                   address_space().limit});
}

std::int64_t resident_bytes() {
  const std::string statm = read_text("/proc/self/statm");
  const std::size_t blank = statm.find(' ');
  if (blank == std::string::npos) return 0;
  return parse_number(std::string_view(statm).substr(blank + 1)).value_or(0) *
         sysconf(_SC_PAGESIZE);
}

Result<std::optional<std::int64_t>> memory_limit_bytes() {
  const char* text = std::getenv("ATTNSCOPE_MEMORY_LIMIT_MB");
  if (text == nullptr || *text == '\0') return std::optional<std::int64_t>();
  const std::string_view view(text);
  std::int64_t mebibytes = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), mebibytes);
  if (error != std::errc{} || end != view.data() + view.size() || mebibytes < 1 ||
      mebibytes > unlimited / mib) {
    return fail(
        "ATTNSCOPE_MEMORY_LIMIT_MB is '{}'; give a whole number of MiB, 1 or more, or unset it.",
        view);
  }
  return std::optional(mebibytes * mib);
}

std::string bytes_text(std::int64_t bytes) {
  const double amount = static_cast<double>(bytes);
  if (bytes >= 1024 * mib)
    return fmt::format("{:.1f} GiB ({} bytes)", amount / static_cast<double>(1024 * mib), bytes);
  if (bytes >= mib)
    return fmt::format("{:.1f} MiB ({} bytes)", amount / static_cast<double>(mib), bytes);
  return fmt::format("{} bytes", bytes);
}

std::optional<ProcessPeak::Resident> ProcessPeak::read() {
  std::ifstream file("/proc/self/status");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // Its lines have the format of /proc/meminfo.
  const auto now = meminfo_bytes(text, "VmRSS");
  const auto peak = meminfo_bytes(text, "VmHWM");
  if (!now || !peak) return std::nullopt;
  return Resident{*now, *peak, meminfo_bytes(text, "RssFile").value_or(0)};
}

ProcessPeak::ProcessPeak() {
  if (forget_peaks()) before_ = read();
}

std::optional<std::int64_t> ProcessPeak::grown_bytes() const {
  const std::optional<Resident> after = read();
  if (!before_ || !after) return std::nullopt;
  const std::int64_t files = std::max<std::int64_t>(after->of_files - before_->of_files, 0);
  return std::max<std::int64_t>(after->peak - before_->now - files, 0);
}

}  // namespace attnscope::measure
