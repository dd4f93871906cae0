#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Printable: anything that goes into a paper - a chart, panels, a mask - and the one function that
// writes it. The command line, the window's dialog and its preview all go through it.
//
//   OffscreenApplication application;   // on a machine without a display
//   const Printable what = printable(figure);
//   Result<Files> written = write_printable(what, "fig2a.pdf", {.width_mm = 122, .csv = true});

#include <QSizeF>
#include <QString>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/charts/axis_scale.h"
#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/drawing_file.h"
#include "engine/report/figure.h"
#include "kernels/base/result.h"

namespace attnscope::charts {

/// How something is drawn into a file: one set of choices for `plot`, `mask` and the window's
/// dialog, so that the same choices give the same bytes.
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

/// A page laid out; `paint` may be called for any number of formats.
struct LaidOut {
  QSizeF size;  // units of 1/20 pt
  std::function<void(QPainter&)> paint;
};

/// Immutable once made; may be used from any thread, but for what says otherwise.
struct Printable {
  std::string title;         // kept inside the file, and in the .tex caption
  std::string about;         // what is drawn against what, for the .tex caption; may be empty
  std::string provenance;    // kept inside the file
  std::string warning = {};  // stands in the figure, and in the .tex caption
  bool has_series = true;    // whether interval bars and crossovers mean anything
  bool has_height = true;    // whether a height may be asked for: a mask's follows from its width
  bool has_caption = true;   // whether provenance can stand under it
  /// `vectors`: whether what it is painted on keeps them (PDF, SVG).
  std::function<Result<LaidOut>(const FigureOptions&, bool vectors)> lay_out;
  std::function<Result<std::string>(const FigureOptions&)> csv;
  std::vector<std::filesystem::path> inputs = {};  // that it is drawn from, and never replaces
  bool on_application_thread = false;  // may be drawn there alone: charts are widgets of a kind
};

/// Calls `draw` once control is back in the event loop where the printable demands that thread,
/// else on another one. Only `draw` itself may look whether whoever asked is still there.
void draw_soon(const Printable& what, std::function<void()> draw);

[[nodiscard]] Printable printable(report::Figure figure);
[[nodiscard]] Printable printable(report::Facets facets);

/// What was written, the figure first.
using Files = std::vector<std::filesystem::path>;

/// The figure and what the options want beside it: FIGURE.csv, FIGURE.tex.
[[nodiscard]] Files files_of(const std::filesystem::path& path, const FigureOptions& options);

/// Draws everything first, then writes every file beside its target and renames: existing files
/// stay whole when anything fails before that. Errors: another extension, an unwritable path,
/// one that is read, a size in which the legend does not fit, nothing to draw, a .tex for an .svg.
[[nodiscard]] Result<Files> write_printable(const Printable& what,
                                            const std::filesystem::path& path,
                                            const FigureOptions& options);

/// A float for LaTeX that includes `figure`: \includegraphics at its width, caption and label.
[[nodiscard]] Result<std::string> tex_snippet(const Printable& what,
                                              const std::filesystem::path& figure,
                                              const FigureOptions& options);

}  // namespace attnscope::charts
