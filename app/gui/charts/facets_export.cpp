// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/facets_export.h"

#include <algorithm>
#include <vector>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/drawing_file.h"

namespace attnscope::charts {
namespace {

constexpr double panel_aspect = 0.55;
constexpr double least_panel_width = 19;  // em
// What a drawing keeps free above and below its plot, of which a frame has no need.
constexpr double above_plot = 2.0, below_plot = 3.1;  // em

/// A figure of all panels' contenders without their values: title, legend and caption.
report::Figure frame_of(const report::Facets& facets) {
  report::Figure frame;
  frame.title = facets.title;
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

/// Panels are compared by eye: all axes reach as far as any, upright ones of the same value.
void share_axes(const report::Facets& facets, const report::Figure& with,
                ChartDrawing::Page& page) {
  for (const report::Figure& panel : facets.panels) {
    const bool same_value = panel.y_label == with.y_label;
    for (const report::Series& series : panel.series) {
      for (const report::Point& point : series.points) {
        page.shared_x.push_back(point.x);
        if (same_value) page.shared_y.insert(page.shared_y.end(), {point.y, point.low, point.high});
      }
      for (const report::RailMark& mark : series.rail) page.shared_x.push_back(mark.x);
    }
  }
}

struct Grid {
  int columns = 1, rows = 1;
};

Grid grid_of(const report::Facets& facets, double width, double em) {
  const auto count = static_cast<int>(facets.panels.size());
  Grid grid;
  if (facets.columns > 0) {
    grid.columns = facets.columns;
    grid.rows = (count + grid.columns - 1) / grid.columns;
    return grid;
  }
  grid.columns = std::clamp(static_cast<int>(width / (least_panel_width * em)), 1, count);
  grid.rows = (count + grid.columns - 1) / grid.columns;
  grid.columns = (count + grid.rows - 1) / grid.rows;
  return grid;
}

}  // namespace

Status export_facets(const report::Facets& facets, const std::filesystem::path& path,
                     const FigureOptions& options) {
  if (const Result<FileFormat> format = format_of(path); !format) {
    return tl::unexpected(format.error());
  }
  if (const Status checked = check_options(options); !checked) return checked;
  if (facets.panels.empty()) {
    return fail("{}: there is nothing to draw, the figure has no cells", path.string());
  }
  std::vector<std::string> ids = options.contenders;
  const report::Figure frame_figure = frame_of(facets);
  for (const report::Series& series : frame_figure.series) ids.push_back(series.style_key);
  ContenderStyles styles(ids);

  ChartDrawing::Page page;
  page.em = options.font_pt * units_per_point;
  page.theme = options.theme;
  ChartDrawing::Page frame_page = page;
  frame_page.title = options.title;
  frame_page.caption = QString::fromStdString(options.caption);
  frame_page.placeholder = QString();
  const double width = units_of_mm(options.width_mm);
  frame_page.size = QSizeF(width, 0);
  const double around = ChartDrawing(frame_figure, styles, frame_page).height_around_plot() -
                        (above_plot + below_plot) * page.em;

  const Grid grid = grid_of(facets, width, page.em);
  page.legend = false;
  page.size = QSizeF(width / grid.columns, 0);
  const auto page_of = [&](const report::Figure& panel) {
    ChartDrawing::Page own = page;
    share_axes(facets, panel, own);
    return own;
  };
  double wanted = 0, least = 0;
  for (const report::Figure& panel : facets.panels) {
    const ChartDrawing trial(panel, styles, page_of(panel));
    wanted = std::max({wanted, trial.least_height(),
                       trial.height_around_plot() + panel_aspect * page.size.width()});
    least = std::max(least, trial.least_height());
  }
  frame_page.size.setHeight(options.height_mm == 0 ? around + grid.rows * wanted
                                                   : units_of_mm(options.height_mm));
  page.size.setHeight((frame_page.size.height() - around) / grid.rows);
  if (page.size.height() < least) {
    return fail("{}: {} mm is not high enough for the panels and their legend; it takes {:.0f} mm",
                path.string(), options.height_mm,
                (around + grid.rows * least) / units_of_mm(1) + 1);
  }

  const ChartDrawing frame(frame_figure, styles, frame_page);
  std::vector<ChartDrawing> panels;
  for (const report::Figure& panel : facets.panels) {
    panels.emplace_back(panel, styles, page_of(panel));
  }
  const double top = frame.plot().top() - above_plot * page.em;
  return write_drawing(path,
                       {.size = frame_page.size,
                        .title = QString::fromStdString(facets.title),
                        .description = QString::fromStdString(facets.provenance),
                        .png_dpi = options.png_dpi},
                       [&](QPainter& painter) {
                         frame.paint(painter);
                         for (std::size_t i = 0; i < panels.size(); ++i) {
                           const auto place = static_cast<int>(i);
                           painter.save();
                           painter.translate(place % grid.columns * page.size.width(),
                                             top + place / grid.columns * page.size.height());
                           panels[i].paint(painter);
                           painter.restore();
                         }
                       });
}

}  // namespace attnscope::charts
