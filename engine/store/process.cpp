// SPDX-License-Identifier: Apache-2.0
//
// Checks whether the process that wrote a run is still alive: its number may now belong to another
// process.

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "engine/store/store.h"

namespace attnscope {
namespace {

/// Start time (field 22 of /proc/PID/stat, clock ticks since boot) of a process that is not a
/// zombie.
std::optional<std::uint64_t> start_ticks(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  // Field 2 is the program's name in parentheses and may itself contain blanks and parentheses.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  const char state = text[name_end + 2];
  if (state == 'Z' || state == 'X') return std::nullopt;
  std::size_t at = name_end + 2;
  for (int field = 3; field < 22; ++field) {
    at = text.find(' ', at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  std::uint64_t ticks = 0;
  const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), ticks);
  return parsed.ec == std::errc() ? std::optional(ticks) : std::nullopt;
}

}  // namespace

bool is_alive(std::int64_t process_id, std::uint64_t process_start_ticks) {
  if (process_id <= 0) return false;
  const std::optional<std::uint64_t> ticks = start_ticks(std::to_string(process_id));
  return ticks && *ticks == process_start_ticks;
}

std::uint64_t own_process_start_ticks() {
  return start_ticks("self").value_or(0);
}

}  // namespace attnscope
