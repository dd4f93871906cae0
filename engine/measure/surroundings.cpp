// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/surroundings.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "engine/measure/load_meter.h"

namespace attnscope::measure {
namespace {

using nlohmann::json;

// Read by OpenMP runtimes, BLAS libraries, LibTorch, CUDA, the C library's allocator and loader, or
// by this program.
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

/// The first line of a small file; null where there is none.
json first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return nullptr;
  return line;
}

/// "1" and "0" of a switch in /sys as a truth; null where there is none.
json truth(const char* path) {
  const json line = first_line(path);
  return line.is_null() ? line : json(line.get<std::string>() == "1");
}

json cpuinfo_field(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return nullptr;
}

json runs_under_hypervisor() {
  const json flags = cpuinfo_field("flags");
  if (flags.is_null()) return nullptr;
  std::string_view rest = flags.get_ref<const std::string&>();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == "hypervisor") return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace

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

json settings_that_matter(const char* const* environment) {
  json settings = json::object();
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || !matters(entry.substr(0, equals))) continue;
    settings[std::string(entry.substr(0, equals))] = without_folders(entry.substr(equals + 1));
  }
  return settings;
}

json describe_surroundings() {
  return {{"affinity", core_ranges(allowed_cores())},
          {"smt", truth("/sys/devices/system/cpu/smt/active")},
          {"microcode", cpuinfo_field("microcode")},
          {"hypervisor", runs_under_hypervisor()},
          {"cpu_quota", first_line("/sys/fs/cgroup/cpu.max")},
          {"load", first_line("/proc/loadavg")},
          {"nvidia_driver", first_line("/proc/driver/nvidia/version")},
          {"c_library", fmt::format("glibc {}", gnu_get_libc_version())},
          {"environment", settings_that_matter(environ)}};
}

}  // namespace attnscope::measure
