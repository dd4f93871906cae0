// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/machine_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace attnscope::measure {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return unlimited;  // v1 uses 2^63 and more for no limit
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

/// The number after `key` and a blank in a file with "key value" lines.
std::int64_t keyed_number(const std::string& text, std::string_view key) {
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line(text.data() + start, end - start);
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
      return parse_number(line.substr(key.size() + 1)).value_or(0);
    start = end + 1;
  }
  return 0;
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
    const auto limit_text = read_file(folder / files.limit);
    const auto usage_text = read_file(folder / files.usage);
    const auto limit = limit_text ? parse_number(*limit_text) : std::nullopt;  // "max": no number
    const auto usage = usage_text ? parse_number(*usage_text) : std::nullopt;
    if (limit && usage && *limit < unlimited / 2) {
      const std::int64_t reclaimable =
          keyed_number(read_file(folder / "memory.stat").value_or(""), files.inactive_key);
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
      tighten(limits, "/sys/fs/cgroup", group, {"memory.max", "memory.current", "inactive_file"});
    if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      tighten(limits, "/sys/fs/cgroup/memory", group,
              {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"});
    }
  }
  return limits;
}

/// Limit of `ulimit -v`: on all mapped memory, touched or not.
Limits address_space() {
  rlimit most{};
  if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur >= unlimited) return {};
  const std::string statm = read_file("/proc/self/statm").value_or("");
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
  const std::string meminfo = read_file("/proc/meminfo").value_or("");
  const Limits groups = group_limits();
  const std::int64_t available = meminfo_bytes(meminfo, "MemAvailable").value_or(0);
  const std::int64_t total =
      std::min(meminfo_bytes(meminfo, "MemTotal").value_or(available), groups.limit);
  const std::int64_t margin = std::clamp(total / 20, 128 * mib, 1024 * mib);
  const std::int64_t left = std::min({available, groups.left, address_space().left});
  return std::max<std::int64_t>(left - margin, 0);
}

std::int64_t total_memory_bytes() {
  const std::string meminfo = read_file("/proc/meminfo").value_or("");
  return std::min({meminfo_bytes(meminfo, "MemTotal").value_or(0), group_limits().limit,
                   address_space().limit});
}

std::int64_t resident_bytes() {
  const std::string statm = read_file("/proc/self/statm").value_or("");
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

std::string bytes_in_words(std::int64_t bytes) {
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
