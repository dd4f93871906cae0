// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/figure_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/base/sentences.h"

namespace attnscope::charts {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<double> width_in_mm(std::string_view text) {
  const auto venue = std::ranges::find(venues, text, &Venue::key);
  if (venue != venues.end()) return venue->width_mm;
  const std::optional<double> mm = number_in(text);
  if (!mm) {
    return fail("--width: '{}' is neither lncs, acm, acl nor a number of millimetres.",
                in_a_sentence(text));
  }
  return *mm;
}

Result<AxisRange> parse_range(std::string_view option, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<double> low = number_in(text.substr(0, colon));
  const std::optional<double> high =
      colon == std::string_view::npos ? std::nullopt : number_in(text.substr(colon + 1));
  if (!low || !high || *low >= *high) {
    return fail("{}: '{}' is no part of an axis; write its two ends, the lower one first: 64:1024.",
                option, in_a_sentence(text));
  }
  return AxisRange{*low, *high};
}

Status check_options(const FigureOptions& options) {
  if (!(options.width_mm >= 30 && options.width_mm <= 2000)) {
    return fail("a figure's width must lie between 30 and 2000 mm, not {}", options.width_mm);
  }
  if (!(options.height_mm == 0 || (options.height_mm >= 20 && options.height_mm <= 2000))) {
    return fail("a figure's height must lie between 20 and 2000 mm, not {}", options.height_mm);
  }
  if (!(options.font_pt >= 4 && options.font_pt <= 40)) {
    return fail("a figure's font size must lie between 4 and 40 pt, not {}", options.font_pt);
  }
  return {};
}

}  // namespace attnscope::charts
