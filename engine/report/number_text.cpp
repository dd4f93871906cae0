// SPDX-License-Identifier: Apache-2.0
#include "engine/report/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "base/sentences.h"

namespace attnscope::report {
namespace {

struct Unit {
  double size;
  std::string_view name;
};

/// Writes the value in the largest unit in which it rounds to at least 1, or in the smallest unit.
template <std::size_t count>
std::string in_unit(double value, const std::array<Unit, count>& ascending) {
  if (!std::isfinite(value)) return "–";
  std::size_t i = count - 1;
  // 999.5 rounds to 1000, which is written in the next unit.
  while (i > 0 && std::abs(value) < 0.9995 * ascending[i].size) --i;
  return fmt::format("{} {}", three_digits(value / ascending[i].size), ascending[i].name);
}

}  // namespace

std::string three_digits(double value) {
  if (!std::isfinite(value)) return "–";
  if (value == 0) return "0";
  const auto decimals_for = [](double x) {
    return std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(x)))), 0, 12);
  };
  int decimals = decimals_for(value);
  // 9.996 becomes 10.0, not 10.00.
  const double scale = std::pow(10.0, decimals);
  const double rounded = std::round(value * scale) / scale;
  if (rounded != 0) decimals = decimals_for(rounded);
  return fmt::format("{:.{}f}", value, decimals);
}

std::size_t width_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string padded(std::string_view text, std::size_t width, bool left) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return left ? std::string(text) + blanks : blanks + std::string(text);
}

void add_once(std::vector<std::string>& texts, std::string text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
}

std::string without_stop(std::string text) {
  while (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string wrapped(std::string_view text, std::string_view indent) {
  // A line with this command ends with it, and it must stay in one piece to be copied into a shell.
  // The repeated run may itself have been started by such a command.
  constexpr std::string_view command_to_repeat = "attnscope run --again ";
  std::string result;
  // Leading blanks belong to the first line.
  std::string line(text.substr(0, std::min(text.find_first_not_of(' '), text.size())));
  text.remove_prefix(line.size());
  bool is_first_word = true;
  while (!text.empty()) {
    const bool is_command = text.starts_with(command_to_repeat) &&
                            text.find(command_to_repeat, 1) == std::string_view::npos;
    const std::size_t blank = is_command ? text.size() : std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    if (!is_first_word && width_of(line) + 1 + width_of(word) > line_width) {
      result.append(line).append("\n");
      line = indent;
      is_first_word = true;
    }
    if (!is_first_word) line.push_back(' ');
    line.append(word);
    is_first_word = false;
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return result.append(line).append("\n");
}

std::string format_time(double ns) {
  constexpr std::array<Unit, 4> units{{{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}}};
  return in_unit(ns, units);
}

std::string format_bytes(double bytes) {
  constexpr std::array<Unit, 5> units{
      {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
  return in_unit(bytes, units);
}

namespace {

std::string percent_without_unit(double percent) {
  if (std::abs(percent) < 0.05) return "0";
  // One decimal if a whole percent would hide most of the difference: -99 % may be a factor of 67
  // or of 200.
  const bool fine = std::abs(percent) < 9.95 || percent < -90;
  return fine ? fmt::format("{:+.1f}", percent) : fmt::format("{:+.0f}", percent);
}

}  // namespace

std::string format_relative(double ratio) {
  const double percent = (ratio - 1) * 100;
  return std::isfinite(percent) ? percent_without_unit(percent) + " %" : "–";
}

std::string format_times(double ratio) {
  return std::isfinite(ratio) ? three_digits(ratio) + "x" : "–";
}

std::string difference_in_words(const statistics::Ratio& ratio) {
  const bool is_shown = ratio.verdict != statistics::Verdict::no_difference_shown;
  return is_shown && is_known(ratio) ? format_relative(ratio.ratio)
                                     : std::string(verdict_in_words(ratio));
}

std::string_view verdict_in_words(const statistics::Ratio& ratio) {
  const bool is_shown = ratio.verdict != statistics::Verdict::no_difference_shown;
  return is_shown || is_known(ratio) ? name_of(ratio.verdict) : interval_too_wide;
}

std::string interval_in_words(const statistics::Ratio& ratio) {
  if (!is_known(ratio)) return std::string(interval_too_wide);
  return fmt::format("{} to {} %", percent_without_unit((ratio.low - 1) * 100),
                     percent_without_unit((ratio.high - 1) * 100));
}

std::string time_interval_in_words(const statistics::Summary& time) {
  if (!is_known(relative_interval(time))) return std::string(interval_too_wide);
  return fmt::format("{} to {}", format_time(time.low_ns), format_time(time.high_ns));
}

statistics::Ratio relative_interval(const statistics::Summary& time) {
  return {.ratio = 1, .low = time.low_ns / time.median_ns, .high = time.high_ns / time.median_ns};
}

std::string time_in_words(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "unknown time";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", std::int64_t{parts.tm_year} + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min);
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  constexpr std::size_t longest = 4000;  // bytes; far longer than any sentence of the program
  return in_a_sentence(text, longest);
}

}  // namespace attnscope::report
