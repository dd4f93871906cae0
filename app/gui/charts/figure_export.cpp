// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/figure_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/gui/charts/chart_drawing.h"

namespace attnscope::charts {
namespace {

constexpr double plot_aspect = 0.5;

Result<LaidOut> lay_out(const report::Figure& figure, const FigureOptions& options) {
  if (figure.series.empty()) return fail("there is nothing to draw, the figure has no cells");
  std::vector<std::string> ids = options.contenders;
  for (const report::Series& series : figure.series) ids.push_back(series.style_key);
  ContenderStyles styles(ids);

  ChartDrawing::Page page;
  page.em = options.font_pt * units_per_point;
  page.title = options.title;
  page.theme = options.theme;
  page.caption = QString::fromStdString(options.caption);
  page.intervals = options.intervals;
  page.marks = options.crossovers;
  page.warning = true;
  page.x_range = options.x_range;
  page.y_range = options.y_range;
  const double width = units_of_mm(options.width_mm);
  page.size = QSizeF(width, units_of_mm(options.height_mm));
  const ChartDrawing trial(figure, styles, page);
  if (trial.empty()) return fail("there is nothing to draw, the figure has no cells");
  if (options.height_mm == 0) {
    page.size.setHeight(
        std::max(trial.height_around_plot() + plot_aspect * width, trial.least_height()));
  } else if (page.size.height() < trial.least_height()) {
    return fail("{} mm is not high enough for the plot and its legend; it takes {:.0f} mm",
                options.height_mm, trial.least_height() / units_of_mm(1) + 1);
  }
  const auto drawing = std::make_shared<const ChartDrawing>(figure, styles, page);
  return LaidOut{page.size, [drawing](QPainter& painter) { drawing->paint(painter); }};
}

}  // namespace

Printable printable(report::Figure figure) {
  const auto shared = std::make_shared<const report::Figure>(std::move(figure));
  return {.title = shared->title,
          .about = fmt::format("{} against {}", shared->y_label, shared->x_label),
          .provenance = shared->provenance,
          .warning = shared->warning,
          .lay_out = [shared](const FigureOptions& options,
                              bool /*vectors*/) { return lay_out(*shared, options); },
          .csv = [shared](const FigureOptions& /*options*/) -> Result<std::string> {
            return report::figure_csv(*shared);
          },
          .on_application_thread = true};
}

Status export_figure(report::Figure figure, const std::filesystem::path& path,
                     const FigureOptions& options) {
  return write_printable(printable(std::move(figure)), path, options).map([](const Files&) {});
}

}  // namespace attnscope::charts
