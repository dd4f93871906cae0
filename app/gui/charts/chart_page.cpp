// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/chart_page.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace attnscope::charts {
namespace {

constexpr double plot_aspect = 0.5, panel_aspect = 0.55;
constexpr double usual_panel_width = 19;  // em

/// A figure of all panels' contenders without their values: title, legend and caption.
report::Figure frame_of(const report::Facets& facets) {
  report::Figure frame;
  frame.title = facets.title;
  frame.warning = facets.warning;
  for (const report::Figure& panel : facets.panels) {
    for (const report::Series& series : panel.series) {
      if (std::ranges::count(frame.series, series.style_key, &report::Series::style_key) > 0)
        continue;
      frame.series.push_back(
          {.name = series.name, .style_key = series.style_key, .points = {}, .rail = {}});
    }
  }
  return frame;
}

/// What the axes of all panels reach that mean the same as this one's.
void share_axes(const report::Facets& facets, const report::Figure& panel,
                ChartDrawing::Page& page) {
  for (const report::Figure& other : facets.panels) {
    if (&other == &panel) continue;
    const bool same_x = other.x_label == panel.x_label, same_y = other.y_label == panel.y_label;
    for (const report::Series& series : other.series) {
      for (const report::Point& point : series.points) {
        if (same_x) page.shared_x.push_back(point.x);
        if (same_y && !page.hidden.contains(series.style_key))
          add_reached(page.shared_y, point.y, point.low, point.high);
      }
      for (const report::RailMark& mark : series.rail) {
        if (same_x) page.shared_x.push_back(mark.x);
      }
    }
  }
}

int columns_of(const report::Facets& facets, double width_em, double least_panel_width) {
  const auto count = static_cast<int>(facets.panels.size());
  int columns = facets.columns > 0
                    ? std::min(facets.columns, count)
                    : std::clamp(static_cast<int>(width_em / usual_panel_width), 1, count);
  if (facets.columns == 0) {
    const int rows = (count + columns - 1) / columns;
    columns = (count + rows - 1) / rows;
  }
  if (least_panel_width > 0)
    columns = std::clamp(static_cast<int>(width_em / least_panel_width), 1, columns);
  return columns;
}

std::optional<AxisRange> range_of(const AxisRanges& ranges, const std::string& label) {
  const auto found = ranges.find(label);
  return found == ranges.end() ? std::nullopt : std::optional(found->second);
}

std::string about(const report::Facets& facets) {
  std::string text;
  for (const report::Figure& panel : facets.panels) {
    if (text.find(panel.y_label) != std::string::npos) continue;
    text += (text.empty() ? "" : ", ") + panel.y_label;
  }
  return facets.panels.empty() ? text : text + " against " + facets.panels.front().x_label;
}

Result<LaidOut> lay_out(const report::Facets& facets, const FigureOptions& options) {
  const auto nothing = [] { return fail("there is nothing to draw, the figure has no cells"); };
  if (facets.panels.empty()) return nothing();
  std::vector<std::string> ids = options.contenders;
  for (const report::Series& series : frame_of(facets).series) ids.push_back(series.style_key);
  ContenderStyles styles(ids);

  ChartPage::Look look;
  ChartDrawing::Page& page = look.page;
  page.em = options.font_pt * units_per_point;
  page.title = options.title;
  page.theme = options.theme;
  page.caption = QString::fromStdString(options.caption);
  page.intervals = options.intervals;
  page.marks = options.crossovers;
  page.warning = true;
  page.size = QSizeF(units_of_mm(options.width_mm), units_of_mm(options.height_mm));
  look.ranges = options.ranges;
  if (options.x_range) look.ranges[facets.panels.front().x_label] = *options.x_range;
  if (options.y_range) look.ranges[facets.panels.front().y_label] = *options.y_range;
  const ChartPage trial(facets, styles, look);
  if (trial.empty()) return nothing();
  if (options.height_mm == 0) {
    page.size.setHeight(trial.good_height());
  } else if (page.size.height() < trial.least_height()) {
    return fail("{} mm is not high enough for what is drawn and its legend; it takes {:.0f} mm",
                options.height_mm, trial.least_height() / units_of_mm(1) + 1);
  }
  const auto drawn = std::make_shared<const ChartPage>(facets, styles, look);
  return LaidOut{page.size, [drawn](QPainter& painter) { drawn->paint(painter); }};
}

}  // namespace

report::Facets facets_of(report::Figure figure) {
  report::Facets facets;
  facets.provenance = figure.provenance;
  facets.warning = figure.warning;
  facets.panels.push_back(std::move(figure));
  return facets;
}

ChartPage::ChartPage(const report::Facets& facets, ContenderStyles& styles, const Look& look) {
  if (facets.panels.size() > 1 || (!facets.panels.empty() && !facets.title.empty())) {
    lay_out_panels(facets, styles, look);
    return;
  }
  const report::Figure figure = facets.panels.empty() ? report::Figure{} : facets.panels.front();
  ChartDrawing::Page page = look.page;
  if (!look.placeholders.empty()) page.placeholder = look.placeholders.front();
  page.x_range = range_of(look.ranges, figure.x_label);
  page.y_range = range_of(look.ranges, figure.y_label);
  panels_.emplace_back(figure, styles, page);
  least_height_ = panels_.front().least_height();
  good_height_ = std::max(least_height_,
                          panels_.front().height_around_plot() + plot_aspect * page.size.width());
}

void ChartPage::lay_out_panels(const report::Facets& facets, ContenderStyles& styles,
                               const Look& look) {
  const report::Figure frame = frame_of(facets);
  const double width = look.page.size.width(), top = look.page.origin.y();
  // A drawing without a plot is as high as it needs.
  const auto fit = [&](ChartDrawing::Page& page) {
    page.plot = false;
    page.size = QSizeF(width, 0);
    page.size.setHeight(ChartDrawing(frame, styles, page).height_around_plot());
    return page.size.height();
  };
  ChartDrawing::Page above = look.page, below = look.page;
  above.legend = above.warning = false;
  above.caption.clear();
  below.title = false;
  const bool has_head = above.title && !facets.title.empty();
  const double head = has_head ? fit(above) : 0, foot = fit(below);

  columns_ = columns_of(facets, width / look.page.em, look.least_panel_width);
  const int rows = (static_cast<int>(facets.panels.size()) + columns_ - 1) / columns_;
  std::vector<ChartDrawing::Page> pages;
  double least = 0, good = 0;
  for (std::size_t i = 0; i < facets.panels.size(); ++i) {
    const report::Figure& panel = facets.panels[i];
    ChartDrawing::Page page = look.page;
    page.title = true;  // a panel's own tells it from the others
    page.legend = page.warning = false;
    page.caption.clear();
    page.size = QSizeF(width / columns_, 0);
    if (i < look.placeholders.size() && !look.placeholders[i].isEmpty())
      page.placeholder = look.placeholders[i];
    share_axes(facets, panel, page);
    page.x_range = range_of(look.ranges, panel.x_label);
    page.y_range = range_of(look.ranges, panel.y_label);
    const ChartDrawing trial(panel, styles, page);
    least = std::max(least, trial.least_height());
    good = std::max({good, trial.least_height(),
                     trial.height_around_plot() + panel_aspect * page.size.width()});
    pages.push_back(std::move(page));
  }
  least_height_ = head + rows * least + foot;
  good_height_ = head + rows * good + foot;
  const double height = std::max(look.page.size.height(), least_height_);
  if (has_head) head_.emplace(frame, styles, above);
  below.origin.setY(top + height - foot);
  foot_.emplace(frame, styles, below);
  const double panel_height = (height - head - foot) / rows;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const int column = static_cast<int>(i) % columns_, row = static_cast<int>(i) / columns_;
    ChartDrawing::Page& page = pages[i];
    page.size.setHeight(panel_height);
    page.origin += QPointF(column * page.size.width(), head + row * panel_height);
    panels_.emplace_back(facets.panels[i], styles, page);
  }
}

bool ChartPage::empty() const {
  return std::ranges::all_of(panels_, &ChartDrawing::empty);
}

void ChartPage::paint(QPainter& painter, int focused_series) const {
  if (head_) head_->paint(painter);
  for (const ChartDrawing& panel : panels_) panel.paint(painter, foot_ ? -1 : focused_series);
  if (foot_) foot_->paint(painter, focused_series);
}

std::optional<std::size_t> ChartPage::panel_at(QPointF position) const {
  const auto found = std::ranges::find_if(
      panels_, [&](const ChartDrawing& panel) { return panel.rect().contains(position); });
  return found == panels_.end() ? std::nullopt
                                : std::optional<std::size_t>(found - panels_.begin());
}

const DrawnPoint* ChartPage::nearest(QPointF position, double radius) const {
  const auto panel = panel_at(position);
  return panel ? panels_[*panel].nearest(position, radius) : nullptr;
}

Printable printable(report::Facets facets) {
  const auto shared = std::make_shared<const report::Facets>(std::move(facets));
  const bool is_figure = shared->title.empty() && shared->panels.size() == 1;
  return {.title = is_figure ? shared->panels.front().title : shared->title,
          .about = about(*shared),
          .provenance = shared->provenance,
          .warning = shared->warning,
          .lay_out = [shared](const FigureOptions& options,
                              bool /*vectors*/) { return lay_out(*shared, options); },
          .csv = [shared, is_figure](const FigureOptions& /*options*/) -> Result<std::string> {
            return is_figure ? report::figure_csv(shared->panels.front())
                             : report::facets_csv(*shared);
          },
          .on_application_thread = true};
}

Printable printable(report::Figure figure) {
  return printable(facets_of(std::move(figure)));
}

}  // namespace attnscope::charts
