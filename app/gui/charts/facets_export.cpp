// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/facets_export.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/facets_layout.h"

namespace attnscope::charts {
namespace {

constexpr double panel_aspect = 0.55;

/// Everything laid out: the panels row by row between the title above and the legend below.
struct PanelPage {
  std::unique_ptr<const ChartDrawing> title, rest;
  std::vector<ChartDrawing> panels;
  QSizeF size, panel_size;
  int columns = 1;
};

void paint(const PanelPage& page, QPainter& painter) {
  const auto at = [&painter](double x, double y, const ChartDrawing& drawing) {
    painter.save();
    painter.translate(x, y);
    drawing.paint(painter);
    painter.restore();
  };
  at(0, 0, *page.title);
  for (std::size_t i = 0; i < page.panels.size(); ++i) {
    const auto place = static_cast<int>(i);
    const int column = place % page.columns, row = place / page.columns;
    at(column * page.panel_size.width(),
       page.title->page().size.height() + row * page.panel_size.height(), page.panels[i]);
  }
  at(0, page.size.height() - page.rest->page().size.height(), *page.rest);
}

/// A drawing without a plot, as high as it needs.
std::unique_ptr<const ChartDrawing> strip(const report::Figure& figure, ContenderStyles& styles,
                                          ChartDrawing::Page page) {
  page.plot = false;
  page.size.setHeight(ChartDrawing(figure, styles, page).height_around_plot());
  return std::make_unique<const ChartDrawing>(figure, styles, page);
}

Result<LaidOut> lay_out(const report::Facets& facets, const FigureOptions& options) {
  if (facets.panels.empty()) return fail("there is nothing to draw, the figure has no cells");
  std::vector<std::string> ids = options.contenders;
  const report::Figure frame = frame_of(facets);
  for (const report::Series& series : frame.series) ids.push_back(series.style_key);
  ContenderStyles styles(ids);

  ChartDrawing::Page page;
  page.em = options.font_pt * units_per_point;
  page.theme = options.theme;
  page.intervals = options.intervals;
  page.marks = options.crossovers;
  page.x_range = options.x_range;
  page.y_range = options.y_range;
  const double width = units_of_mm(options.width_mm);
  page.size = QSizeF(width, 0);

  auto whole = std::make_shared<PanelPage>();
  ChartDrawing::Page title_page = page, rest_page = page;
  title_page.title = options.title;
  title_page.legend = false;
  rest_page.title = false;
  rest_page.warning = true;
  rest_page.caption = QString::fromStdString(options.caption);
  whole->title = strip(frame, styles, title_page);
  whole->rest = strip(frame, styles, rest_page);
  const double around = whole->title->page().size.height() + whole->rest->page().size.height();

  const PanelGrid grid = grid_of(facets, width / page.em);
  whole->columns = grid.columns;
  page.legend = false;
  page.size = QSizeF(width / grid.columns, 0);
  const auto page_of = [&](const report::Figure& panel) {
    ChartDrawing::Page own = page;
    SharedValues shared = shared_values(facets, panel);
    own.shared_x = std::move(shared.x);
    own.shared_y = std::move(shared.y);
    // A part of the first panel's axes means nothing on axes of another kind.
    if (panel.x_label != facets.panels.front().x_label) own.x_range.reset();
    if (panel.y_label != facets.panels.front().y_label) own.y_range.reset();
    return own;
  };
  double wanted = 0, least = 0;
  for (const report::Figure& panel : facets.panels) {
    const ChartDrawing trial(panel, styles, page_of(panel));
    wanted = std::max({wanted, trial.least_height(),
                       trial.height_around_plot() + panel_aspect * page.size.width()});
    least = std::max(least, trial.least_height());
  }
  const double height =
      options.height_mm == 0 ? around + grid.rows * wanted : units_of_mm(options.height_mm);
  page.size.setHeight((height - around) / grid.rows);
  if (page.size.height() < least) {
    return fail("{} mm is not high enough for the panels and their legend; it takes {:.0f} mm",
                options.height_mm, (around + grid.rows * least) / units_of_mm(1) + 1);
  }
  whole->size = QSizeF(width, height);
  whole->panel_size = page.size;
  for (const report::Figure& panel : facets.panels) {
    whole->panels.emplace_back(panel, styles, page_of(panel));
  }
  return LaidOut{whole->size, [whole](QPainter& painter) { paint(*whole, painter); }};
}

std::string about(const report::Facets& facets) {
  std::string text;
  for (const report::Figure& panel : facets.panels) {
    if (text.find(panel.y_label) != std::string::npos) continue;
    text += (text.empty() ? "" : ", ") + panel.y_label;
  }
  return facets.panels.empty() ? text : text + " against " + facets.panels.front().x_label;
}

}  // namespace

Printable printable(report::Facets facets) {
  const auto shared = std::make_shared<const report::Facets>(std::move(facets));
  return {.title = shared->title,
          .about = about(*shared),
          .provenance = shared->provenance,
          .warning = shared->warning,
          .lay_out = [shared](const FigureOptions& options,
                              bool /*vectors*/) { return lay_out(*shared, options); },
          .csv = [shared](const FigureOptions& /*options*/) -> Result<std::string> {
            return report::facets_csv(*shared);
          },
          .on_application_thread = true};
}

Status export_facets(report::Facets facets, const std::filesystem::path& path,
                     const FigureOptions& options) {
  return write_printable(printable(std::move(facets)), path, options).map([](const Files&) {});
}

}  // namespace attnscope::charts
