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
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/gui/charts/drawing_file.h"
#include "app/gui/charts/figure_options.h"
#include "engine/report/figure.h"
#include "kernels/base/result.h"

namespace attnscope::charts {

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
