// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/profile_figure.h"

#include <algorithm>
#include <cmath>

#include "app/gui/charts/map_colors.h"

namespace attnscope::gui {
namespace {

// More stretches add nothing visible on a screen, and painting them would take noticeable time.
constexpr std::size_t most_stretches = 1500;

}  // namespace

report::Figure profile_figure(const DumpInfo& info, std::span<const double> mass) {
  report::Figure figure{.title = {},
                        .x_label = "Token, counted from 0",
                        .y_label = "Mass received (%)",
                        .x_scale = report::Scale::linear,
                        .y_scale = report::Scale::linear,
                        .series = {},
                        .provenance = {}};
  figure.is_joined = false;
  if (mass.size() != info.tokens.size()) return figure;
  for (const TokenGroup group : token_groups) {
    figure.series.push_back({.name = charts::group_title(group).toStdString(),
                             .style_key = std::string(name_of(group)),
                             .points = {},
                             .rail = {}});
  }
  const std::size_t step = (mass.size() + most_stretches - 1) / most_stretches;
  for (std::size_t first = 0; first < mass.size(); first += step) {
    const auto stretch = mass.subspan(first, std::min(step, mass.size() - first));
    const auto largest = std::ranges::max_element(
        stretch, {}, [](double value) { return std::isnan(value) ? -1 : std::abs(value); });
    const auto at = first + static_cast<std::size_t>(largest - stretch.begin());
    if (std::isnan(mass[at])) continue;
    const double percent = 100 * mass[at];
    figure.series[static_cast<std::size_t>(info.groups[at])].points.push_back(
        {.x = static_cast<double>(at),
         .y = percent,
         .low = percent,
         .high = percent,
         .label = info.tokens[at],
         .cell = static_cast<std::int64_t>(at)});
  }
  std::erase_if(figure.series, [](const report::Series& series) { return series.points.empty(); });
  return figure;
}

}  // namespace attnscope::gui
