#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the panels of a figure share, in the window and on paper: the frame around them, their axes
// and the grid they stand in.

#include <vector>

#include "engine/report/figure.h"

namespace attnscope::charts {

/// A figure of all panels' contenders without their values: title, legend and caption.
[[nodiscard]] report::Figure frame_of(const report::Facets& facets);

/// Panels are compared by eye: all axes reach as far as any, upright ones of the same value.
struct SharedValues {
  std::vector<double> x, y;
};
[[nodiscard]] SharedValues shared_values(const report::Facets& facets, const report::Figure& panel);

struct PanelGrid {
  int columns = 1, rows = 1;
};
/// As many columns as the facets ask for, or as leave a panel 19 em on a page so wide.
[[nodiscard]] PanelGrid grid_of(const report::Facets& facets, double width_em);

}  // namespace attnscope::charts
