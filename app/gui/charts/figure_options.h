#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// How something is drawn into a file: one set of choices for `plot`, `mask` and the window's
// dialog, so that the same choices give the same bytes.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/charts/axis_scale.h"
#include "app/gui/charts/chart_theme.h"
#include "kernels/base/result.h"

namespace attnscope::charts {

struct FigureOptions {
  double width_mm = 122;  // the text width of Springer's LNCS
  double height_mm = 0;   // 0: 0.5 of the width for the plot, and what title and legend need
  double font_pt = 8;
  bool title = true;
  std::string caption = {};  // small, under the figure; e.g. figure.provenance. Empty: none.
  /// Every contender of the run, so that several figures of a run draw a contender alike. Empty:
  /// the figure's own.
  std::vector<std::string> contenders = {};
  double png_dpi = 300;
  ChartTheme theme = ChartTheme::light;
  bool intervals = true;
  bool crossovers = true;                               // where the figure has any
  std::optional<AxisRange> x_range = {}, y_range = {};  // parts of the first panel's axes
  AxisRanges ranges = {};                               // and of any, as after zooming
  bool csv = false;  // beside the figure: what is drawn, as FIGURE.csv
  bool tex = false;  // and what includes it, as FIGURE.tex
};

/// A venue whose columns or text are so wide.
struct Venue {
  std::string_view key;    // "lncs"
  std::string_view title;  // "LNCS, text width"
  double width_mm;
};
inline constexpr std::array<Venue, 3> venues{{{"lncs", "LNCS (Springer), text", 122},
                                              {"acm", "ACM, one column", 84.7},
                                              {"acl", "ACL, one column", 77}}};

/// A venue's key or a number of millimetres, as `--width` takes it.
[[nodiscard]] Result<double> width_in_mm(std::string_view text);

/// "64:1024": a part of an axis, as `--range-x` takes it.
[[nodiscard]] Result<AxisRange> parse_range(std::string_view option, std::string_view text);

/// Sizes that make sense, or a sentence saying which does not.
[[nodiscard]] Status check_options(const FigureOptions& options);

}  // namespace attnscope::charts
