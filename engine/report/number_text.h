#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Formats numbers for people (with a decimal point in every locale), and lines for a terminal.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/statistics/summary.h"

namespace attnscope::report {

/// The preferred maximum width of text lines in a terminal, in columns.
inline constexpr std::size_t line_width = 110;

/// Three significant digits without an exponent: "0.0123", "2.41", "368", "12300".
[[nodiscard]] std::string three_digits(double value);

// "2.41 ms", "12.6 MB", "-43 %", "1.95x"
[[nodiscard]] std::string format_time(double ns);
[[nodiscard]] std::string format_bytes(double bytes);
[[nodiscard]] std::string format_relative(double ratio);  // 0.57 -> "-43 %"
[[nodiscard]] std::string format_times(double ratio);     // 1.953 -> "1.95x", 292.7 -> "293x"

/// A ratio in words, the same in every format and in the window: "-43 %" only if a difference is
/// shown, "faster" or "slower" if its interval determines only the side, else "no difference shown"
/// or "interval too wide".
[[nodiscard]] std::string difference_in_words(const statistics::Ratio& ratio);
/// The verdict without the number: "faster".
[[nodiscard]] std::string_view verdict_in_words(const statistics::Ratio& ratio);
/// "-45 to -41 %", or "interval too wide".
[[nodiscard]] std::string interval_in_words(const statistics::Ratio& ratio);
/// The interval of a time, relative to the time.
[[nodiscard]] statistics::Ratio relative_interval(const statistics::Summary& time);
/// "2.3 ms to 2.5 ms", or "interval too wide".
[[nodiscard]] std::string time_interval_in_words(const statistics::Summary& time);
/// Replaces an interval that is too wide to be known.
inline constexpr std::string_view interval_too_wide = "interval too wide";

/// The number of code points, which is the width in terminal columns.
[[nodiscard]] std::size_t width_of(std::string_view utf8);

/// Padded with blanks to a width, on the right for left-aligned text.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width, bool left);

/// Adds a text that is not yet among the others.
void add_once(std::vector<std::string>& texts, std::string text);

/// Removes the full stop at the end, so that the sentence can be a part of another.
[[nodiscard]] std::string without_stop(std::string text);

[[nodiscard]] std::string without_trailing_blanks(std::string text);

/// Wrapped at blanks to line_width, with later lines indented; ends with a newline. A command that
/// repeats a run stays on one line of any length.
[[nodiscard]] std::string wrapped(std::string_view text, std::string_view indent);

/// Joins the lines of a text; other control bytes are shown as '?'.
[[nodiscard]] std::string one_line(std::string text);

/// "2026-01-31 13:05 UTC"; handles damaged times outside the calendar's range.
[[nodiscard]] std::string time_in_words(std::int64_t unix_ms);

}  // namespace attnscope::report
