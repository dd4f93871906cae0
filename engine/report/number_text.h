#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Numbers as a person reads them (a decimal point in every locale), and lines for a terminal.

#include <string>
#include <string_view>

namespace attnscope::report {

/// Columns of a terminal that lines of text keep within where they can.
inline constexpr std::size_t line_width = 110;

/// Three significant digits without an exponent: "0.0123", "2.41", "368", "12300".
[[nodiscard]] std::string three_digits(double value);

/// Code points, not bytes: what a terminal's columns count.
[[nodiscard]] std::size_t width_of(std::string_view utf8);

/// Filled with blanks to a width, on the right for left-aligned text.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width, bool left);

[[nodiscard]] std::string without_trailing_blanks(std::string text);

/// Broken at blanks so that lines keep within line_width, later lines indented; ends in a newline.
[[nodiscard]] std::string wrapped(std::string_view text, std::string_view indent);

}  // namespace attnscope::report
