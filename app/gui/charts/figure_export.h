#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Writes a figure as .pdf (vectors, font embedded), .svg (vectors, texts kept as text) or .png,
// from the drawing that RunChart shows. The extension chooses; light, for paper, unless asked
// otherwise.
//
//   OffscreenApplication application;   // on a machine without a display
//   Status done = export_figure(figure, "fig2a.pdf", {.width_mm = 122});

#include <filesystem>
#include <string>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "engine/report/figure.h"
#include "kernels/plan/result.h"

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
};

/// Sizes that make sense, or a sentence saying which does not.
[[nodiscard]] Status check_options(const FigureOptions& options);

/// Through a temporary file and a rename: an existing file stays whole when anything fails. Errors:
/// another extension, an unwritable path, a size in which the legend does not fit, no values at
/// all.
[[nodiscard]] Status export_figure(const report::Figure& figure, const std::filesystem::path& path,
                                   const FigureOptions& options = {});

}  // namespace attnscope::charts
