// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "attnscope/build_info.h"
#include "engine/measure/available_memory.h"
#include "engine/measure/counting_allocator.h"
#include "engine/measure/load_meter.h"
#include "engine/measure/processor_conditions.h"
#include "engine/measure/surroundings.h"
#include "engine/measure/torch_runtime.h"
#include "kernels/cpu/instruction_set.h"

namespace attnscope::measure {
namespace {

using nlohmann::json;

std::string read_text(const std::string& path) {
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

/// The value of the first "key<separator>value" line, without blanks and quotes around it.
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

json instruction_sets() {
  json sets = json::array();
  for (const cpu::InstructionSet set : cpu::available_sets()) sets.push_back(cpu::name_of(set));
  return sets;
}

/// Cache sizes as the first core sees them: {"L1 Data":"48K", ...}.
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

/// A frequency file's kHz as MHz; null where the system does not tell.
json megahertz(const std::string& name) {
  const std::string text = read_text("/sys/devices/system/cpu/cpu0/cpufreq/" + name);
  double kilohertz = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kilohertz);
  if (error != std::errc{} || end == text.data()) return nullptr;
  return kilohertz / 1000;
}

/// The set the kernels run with; null when ATTNSCOPE_ISA names none that can run here.
json selected_instruction_set() {
  const auto selected = cpu::selected_set();
  return selected ? json(cpu::name_of(*selected)) : json(nullptr);
}

/// Whether the processor may clock itself above its nominal frequency; null where nobody tells.
json turbo() {
  const std::string allowed = read_text("/sys/devices/system/cpu/cpufreq/boost");
  if (!allowed.empty()) return allowed == "1";
  const std::string forbidden = read_text("/sys/devices/system/cpu/intel_pstate/no_turbo");
  if (!forbidden.empty()) return forbidden == "0";
  return nullptr;
}

json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

// Provenance travels inside exports and says nothing of a person's folders.
std::vector<std::string> file_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    names.push_back(std::filesystem::path(path).filename().string());
  }
  return names;
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
  json machine = {
      {"kind", "cpu"},
      {"name", name},
      {"cores", allowed_cores().size()},
      {"memory_bytes", total_memory_bytes()},
      {"available_bytes", available_memory_bytes()},
      {"host", system.nodename},
      {"boot_id", text_or_null(read_text("/proc/sys/kernel/random/boot_id"))},
      {"architecture", system.machine},
      {"kernel", fmt::format("{} {}", system.sysname, system.release)},
      {"system", text_or_null(value_of(read_text("/etc/os-release"), "PRETTY_NAME", '='))},
      {"instruction_sets", instruction_sets()},
      {"instruction_set", selected_instruction_set()},
      {"caches", caches()},
      {"governor",
       text_or_null(read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))},
      {"scaling_driver",
       text_or_null(read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"))},
      {"turbo", turbo()},
      {"clock_source", processor_conditions().clock_source()},
      {"maximum_mhz", megahertz("cpuinfo_max_freq")},
      {"current_mhz", megahertz("scaling_cur_freq")},
      {"huge_pages", text_or_null(read_text("/sys/kernel/mm/transparent_hugepage/enabled"))}};
  machine.update(describe_surroundings());
  return machine;
}

json describe_build() {
  return {{"version", ATTNSCOPE_VERSION},
          {"commit", ATTNSCOPE_GIT_COMMIT},
          {"dirty", ATTNSCOPE_GIT_DIRTY != 0},
          {"compiler", ATTNSCOPE_COMPILER},
          {"flags", ATTNSCOPE_FLAGS},
          {"build_type", ATTNSCOPE_BUILD_TYPE},
          {"libtorch", libtorch_version()},
          {"libtorch_parallel", libtorch_parallel_info()},
          {"libtorch_config", libtorch_config()},
          {"blas", blas_version()},
          {"onednn", onednn_version()},
          {"libtorch_instruction_set", libtorch_instruction_set()},
          {"allocator", process_memory_in_words},
          {"openmp", file_names(mapped_openmp_runtimes())}};
}

}  // namespace attnscope::measure
