// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/figure_export.h"

#include <algorithm>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/drawing_file.h"

namespace attnscope::charts {
namespace {

constexpr double plot_aspect = 0.5;

}  // namespace

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

Status export_figure(const report::Figure& figure, const std::filesystem::path& path,
                     const FigureOptions& options) {
  if (const Result<FileFormat> format = format_of(path); !format) {
    return tl::unexpected(format.error());
  }
  if (const Status checked = check_options(options); !checked) return checked;
  std::vector<std::string> ids = options.contenders;
  for (const report::Series& series : figure.series) ids.push_back(series.style_key);
  ContenderStyles styles(ids);

  ChartDrawing::Page page;
  page.em = options.font_pt * units_per_point;
  page.title = options.title;
  page.theme = options.theme;
  page.caption = QString::fromStdString(options.caption);
  const double width = units_of_mm(options.width_mm);
  page.size = QSizeF(width, units_of_mm(options.height_mm));
  const ChartDrawing trial(figure, styles, page);
  if (trial.empty()) {
    return fail("{}: there is nothing to draw, the figure has no cells", path.string());
  }
  if (options.height_mm == 0) {
    page.size.setHeight(
        std::max(trial.height_around_plot() + plot_aspect * width, trial.least_height()));
  } else if (page.size.height() < trial.least_height()) {
    return fail("{}: {} mm is not high enough for the plot and its legend; it takes {:.0f} mm",
                path.string(), options.height_mm, trial.least_height() / units_of_mm(1) + 1);
  }
  const ChartDrawing drawing(figure, styles, page);
  return write_drawing(path,
                       {.size = page.size,
                        .title = QString::fromStdString(figure.title),
                        .description = QString::fromStdString(figure.provenance),
                        .png_dpi = options.png_dpi},
                       [&drawing](QPainter& painter) { drawing.paint(painter); });
}

}  // namespace attnscope::charts
