#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Printable: a figure for a paper - a chart, panels, a mask - and the function that writes it. The
// command line, the window's dialog and its preview all use it.
//
//   OffscreenApplication application;   // on a machine without a display
//   const Printable what = printable(figure);
//   Result<Files> written = write_printable(what, "fig2a.pdf", {.width_mm = 122, .csv = true});

#include <QByteArray>
#include <QPainter>
#include <QSizeF>
#include <QString>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/drawing/axis_scale.h"
#include "app/drawing/chart_style.h"
#include "base/result.h"
#include "engine/report/figure.h"

class QApplication;
class QTemporaryDir;

namespace attnscope::charts {

/// Fonts and painting need a QApplication. A command that draws a file first creates this object,
/// which creates a QApplication without a display or uses the existing one.
class OffscreenApplication {
 public:
  OffscreenApplication();
  ~OffscreenApplication();
  OffscreenApplication(const OffscreenApplication&) = delete;
  OffscreenApplication& operator=(const OffscreenApplication&) = delete;

 private:
  std::unique_ptr<QTemporaryDir> runtime_folder_;
  std::unique_ptr<QApplication> application_;
};

// The painter's unit is 1/20 point in every format, so one drawing works for all.
inline constexpr double units_per_point = 20;
inline constexpr double unbounded = 1e7;  // units, for a height that follows from the width
[[nodiscard]] constexpr double units_of_mm(double mm) {
  return mm / 25.4 * 72 * units_per_point;
}
inline constexpr double image_dpi_in_vectors = 600;
[[nodiscard]] constexpr double dots_per_unit(double dpi) {
  return dpi / (72 * units_per_point);
}

enum class FileFormat { pdf, svg, png };
/// Derived from the extension, case-insensitive; the error lists the three formats.
[[nodiscard]] Result<FileFormat> format_of(const std::filesystem::path& path);

struct FilePage {
  QSizeF size;  // units
  QString title;
  QString description;  // provenance; kept inside the file
  double png_dpi = 300;
};

/// The file's bytes; the same drawing gives the same bytes. `paint` gets a painter with the unit
/// 1/20 point and a page of size `page.size`.
[[nodiscard]] Result<QByteArray> draw_bytes(FileFormat format, const FilePage& page,
                                            const std::function<void(QPainter&)>& paint);

/// How a figure is drawn into a file: one set of options for `plot`, `mask` and the window's
/// dialog, so that the same options give the same bytes.
struct FigureOptions {
  double width_mm = 122;  // the text width of Springer's LNCS
  double height_mm = 0;   // 0: 0.5 of the width for the plot, plus the height of title and legend
  double font_pt = 8;
  bool title = true;
  std::string caption = {};  // small, under the figure; e.g. figure.provenance. Empty: none.
  /// All contenders of the run, so that several figures of a run use the same styles. Empty: the
  /// figure's own.
  std::vector<std::string> contenders = {};
  double png_dpi = 300;
  ChartTheme theme = ChartTheme::light;
  bool intervals = true;
  bool crossovers = true;                               // if the figure has any
  std::optional<AxisRange> x_range = {}, y_range = {};  // ranges of the first panel's axes
  AxisRanges ranges = {};                               // ranges of any axes, as after zooming
  bool csv = false;  // also write the drawn numbers, as FIGURE.csv
  bool tex = false;  // also write LaTeX that includes the figure, as FIGURE.tex
};

/// A venue with the width of its columns or text.
struct Venue {
  std::string_view key;    // "lncs"
  std::string_view title;  // "LNCS, text width"
  double width_mm;
};
inline constexpr std::array<Venue, 3> venues{{{"lncs", "LNCS (Springer), text", 122},
                                              {"acm", "ACM, one column", 84.7},
                                              {"acl", "ACL, one column", 77}}};

/// The width of --width: a venue's key or a number of millimetres.
[[nodiscard]] Result<double> width_in_mm(std::string_view text);

/// "64:1024": a range of an axis, the form of --range-x.
[[nodiscard]] Result<AxisRange> parse_range(std::string_view option, std::string_view text);

/// An error names the invalid size.
[[nodiscard]] Status check_options(const FigureOptions& options);

/// A laid out page; `paint` may be called for any number of formats.
struct LaidOut {
  QSizeF size;  // units of 1/20 pt
  std::function<void(QPainter&)> paint;
};

/// Immutable once made; may be used from any thread unless a member states otherwise.
struct Printable {
  std::string title;         // stored in the file and in the .tex caption
  std::string about;         // the axes in words, for the .tex caption; may be empty
  std::string provenance;    // stored in the file
  std::string warning = {};  // shown in the figure and in the .tex caption
  bool has_series = true;    // whether interval bars and crossovers apply
  bool has_height = true;    // whether a height may be set: a mask's height follows from its width
  bool has_caption = true;   // whether provenance can be shown under the figure
  /// `vectors`: whether the paint device keeps vectors (PDF, SVG).
  std::function<Result<LaidOut>(const FigureOptions&, bool vectors)> lay_out;
  std::function<Result<std::string>(const FigureOptions&)> csv;
  std::vector<std::filesystem::path> inputs = {};  // the source files, which are never overwritten
  bool on_application_thread = false;  // may only be drawn on that thread: charts are widgets
};

/// Calls `draw` from the event loop if the printable requires the application's thread, otherwise
/// on another thread. Only `draw` may check whether the caller still exists.
void draw_soon(const Printable& what, std::function<void()> draw);

[[nodiscard]] Printable printable(report::Figure figure);
[[nodiscard]] Printable printable(report::Facets facets);

/// The written files, the figure first.
using Files = std::vector<std::filesystem::path>;

/// The figure and the additional files of the options: FIGURE.csv, FIGURE.tex.
[[nodiscard]] Files files_of(const std::filesystem::path& path, const FigureOptions& options);

/// Draws everything first, then writes every file to a temporary file next to its target and
/// renames it: existing files are intact if anything fails before that. Errors: another extension,
/// an unwritable path, an input file as target, a size too small for the legend, nothing to draw, a
/// .tex for an .svg.
[[nodiscard]] Result<Files> write_printable(const Printable& what,
                                            const std::filesystem::path& path,
                                            const FigureOptions& options);

/// A LaTeX float that includes `figure`: \includegraphics at its width, caption and label.
[[nodiscard]] Result<std::string> tex_snippet(const Printable& what,
                                              const std::filesystem::path& figure,
                                              const FigureOptions& options);

}  // namespace attnscope::charts
