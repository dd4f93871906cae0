// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/facets_layout.h"

#include <algorithm>

#include "app/gui/charts/axis_scale.h"

namespace attnscope::charts {
namespace {

constexpr double least_panel_width = 19;  // em

}  // namespace

report::Figure frame_of(const report::Facets& facets) {
  report::Figure frame;
  frame.title = facets.title;
  frame.warning = facets.warning;
  for (const report::Figure& panel : facets.panels) {
    for (const report::Series& series : panel.series) {
      const bool known = std::ranges::any_of(frame.series, [&](const report::Series& one) {
        return one.style_key == series.style_key;
      });
      if (!known) {
        frame.series.push_back(
            {.name = series.name, .style_key = series.style_key, .points = {}, .rail = {}});
      }
    }
  }
  return frame;
}

SharedValues shared_values(const report::Facets& facets, const report::Figure& panel) {
  SharedValues shared;
  for (const report::Figure& other : facets.panels) {
    const bool same_x = other.x_label == panel.x_label, same_y = other.y_label == panel.y_label;
    for (const report::Series& series : other.series) {
      for (const report::Point& point : series.points) {
        if (same_x) shared.x.push_back(point.x);
        if (same_y) add_reached(shared.y, point.y, point.low, point.high);
      }
      for (const report::RailMark& mark : series.rail) {
        if (same_x) shared.x.push_back(mark.x);
      }
    }
  }
  return shared;
}

PanelGrid grid_of(const report::Facets& facets, double width_em) {
  const auto count = static_cast<int>(facets.panels.size());
  PanelGrid grid;
  grid.columns = facets.columns > 0
                     ? facets.columns
                     : std::clamp(static_cast<int>(width_em / least_panel_width), 1, count);
  grid.rows = (count + grid.columns - 1) / grid.columns;
  if (facets.columns == 0) grid.columns = (count + grid.rows - 1) / grid.rows;
  return grid;
}

}  // namespace attnscope::charts
