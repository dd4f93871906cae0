// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/chart_page.h"

#include <QFontMetricsF>
#include <QLineF>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "app/drawing/chart_style.h"
#include "engine/report/sheet.h"

namespace attnscope::charts {
namespace {

constexpr double plot_aspect = 0.5, panel_aspect = 0.55;
constexpr double usual_panel_width = 19;  // em
constexpr double page_pad = 0.5;          // em

/// Adds the values of all other panels whose axes have the same meaning as this one's.
void share_axes(const report::Facets& facets, const report::Figure& panel, ChartLook& look) {
  for (const report::Figure& other : facets.panels) {
    if (&other == &panel) continue;
    const bool same_x = other.x_label == panel.x_label, same_y = other.y_label == panel.y_label;
    for (const report::Series& series : other.series) {
      for (const report::Point& point : series.points) {
        if (same_x) look.shared_x.push_back(point.x);
        if (same_y && other.x_names.empty() && !look.hidden.contains(series.style_key))
          add_reached(look.shared_y, point.y, point.low, point.high);
      }
      for (const report::RailMark& mark : series.rail) {
        if (same_x) look.shared_x.push_back(mark.x);
      }
    }
    if (same_y)
      std::ranges::copy(bar_heights(other, look.hidden), std::back_inserter(look.shared_y));
  }
}

int columns_of(const report::Facets& facets, double width_em, double least_panel_width) {
  const auto count = std::max(1, static_cast<int>(facets.panels.size()));
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

std::string about(const report::Facets& facets) {
  std::string text;
  for (const report::Figure& panel : facets.panels) {
    if (text.find(panel.y_label) != std::string::npos) continue;
    text += (text.empty() ? "" : ", ") + panel.y_label;
  }
  return facets.panels.empty() ? text : text + " against " + facets.panels.front().x_label;
}

Result<LaidOut> lay_out(const report::Facets& facets, const FigureOptions& options) {
  const auto nothing = [] { return fail("there is nothing to draw: the figure has no cells"); };
  if (facets.panels.empty()) return nothing();
  std::vector<std::string> ids = options.contenders;
  const bool all_known = !ids.empty();  // as in the window, which passes all of a run's contenders
  for (const report::Figure& panel : facets.panels) {
    for (const report::Series& series : panel.series) {
      if (!all_known) ids.push_back(series.style_key);
    }
  }
  ContenderStyles styles(ids);

  ChartPage::Look look;
  look.em = options.font_pt * units_per_point;
  look.title = options.title;
  look.theme = options.theme;
  look.caption = QString::fromStdString(report::without_folders(options.caption));
  look.intervals = options.intervals;
  look.marks = options.crossovers;
  look.size = QSizeF(units_of_mm(options.width_mm), units_of_mm(options.height_mm));
  look.ranges = options.ranges;
  if (options.x_range) look.ranges[facets.panels.front().x_label] = *options.x_range;
  if (options.y_range) look.ranges[facets.panels.front().y_label] = *options.y_range;
  const ChartPage trial(facets, styles, look);
  if (trial.empty()) return nothing();
  if (options.height_mm == 0) {
    look.size.setHeight(trial.good_height());
  } else if (look.size.height() < trial.least_height()) {
    return fail(
        "a height of {} mm is too small for the plots and the legend; use at least {:.0f} mm",
        options.height_mm, trial.least_height() / units_of_mm(1) + 1);
  }
  const auto drawn = std::make_shared<const ChartPage>(facets, styles, look);
  return LaidOut{look.size, [drawn](QPainter& painter) { drawn->paint(painter); }};
}

}  // namespace

report::Facets facets_of(report::Figure figure) {
  report::Facets facets;
  facets.provenance = figure.provenance;
  facets.warning = figure.warning;
  facets.panels.push_back(std::move(figure));
  return facets;
}

ChartPage::ChartPage(const report::Facets& facets, ContenderStyles& styles, const Look& look)
    : look_(look) {
  for (const report::Figure& panel : facets.panels) {
    for (const report::Series& series : panel.series) {
      if (std::ranges::find(legend_, series.style_key, &LegendEntry::key) != legend_.end())
        continue;
      legend_.push_back({.key = series.style_key,
                         .text = QString::fromUtf8(series.name),
                         .style = styles.style(series.style_key),
                         .visible = !look.hidden.contains(series.style_key),
                         .rect = {},
                         .text_rect = {}});
    }
  }
  // A single panel's title becomes the page's; several panels keep their titles to be
  // distinguishable.
  const bool is_alone = facets.panels.size() < 2 && facets.title.empty();
  const std::vector<report::Figure> nothing(1);
  const std::vector<report::Figure>& figures = facets.panels.empty() ? nothing : facets.panels;
  const double head =
      lay_out_title(QString::fromUtf8(is_alone ? figures.front().title : facets.title));
  const double foot = lay_out_foot(facets);
  columns_ = columns_of(facets, look.size.width() / look.em, look.least_panel_width);
  const int rows = (static_cast<int>(figures.size()) + columns_ - 1) / columns_;
  const double width = look.size.width() / columns_;
  std::vector<ChartLook> looks;
  double least = 0, good = 0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    ChartLook& own = looks.emplace_back(look);
    own.title = !is_alone;
    if (i < look.placeholders.size() && !look.placeholders[i].isEmpty())
      own.placeholder = look.placeholders[i];
    share_axes(facets, figures[i], own);
    const ChartDrawing trial(figures[i], styles, own, QRectF(0, 0, width, 0));
    least = std::max(least, trial.least_height());
    good = std::max({good, trial.least_height(),
                     trial.height_around_plot() + (is_alone ? plot_aspect : panel_aspect) * width});
  }
  least_height_ = head + rows * least + foot;
  good_height_ = head + rows * good + foot;
  const double height = std::max(0.0, (look.size.height() - head - foot) / rows);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const int column = static_cast<int>(i) % columns_, row = static_cast<int>(i) / columns_;
    panels_.emplace_back(figures[i], styles, looks[i],
                         QRectF(column * width, head + row * height, width, height));
  }
}

QFont ChartPage::font_of(const Strip& strip) const {
  return figure_font(look_.em * (strip.is_title ? 1 : small_text), strip.is_title);
}

/// Returns the title's height.
double ChartPage::lay_out_title(const QString& title) {
  if (!look_.title || title.isEmpty()) return 0;
  const double pad = page_pad * look_.em, width = look_.size.width() - 2 * pad;
  Strip strip{.rect = {}, .text = title, .is_title = true};
  const double height = size_of_lines(font_of(strip), title, width).height();
  strip.rect = QRectF(pad, pad, width, height);
  strips_.push_back(strip);
  return pad + height;
}

/// Lays out warning, legend and caption, from the bottom upwards; returns their height.
double ChartPage::lay_out_foot(const report::Facets& facets) {
  const double em = look_.em, pad = page_pad * em, width = look_.size.width() - 2 * pad;
  double below = 0;
  const auto add = [&](const QString& text) {
    if (text.isEmpty()) return;
    Strip strip{.rect = {}, .text = text};
    const double height = size_of_lines(font_of(strip), text, width).height();
    below += height + pad;
    strip.rect = QRectF(pad, look_.size.height() - below, width, height);
    strips_.push_back(strip);
  };
  add(look_.caption);
  if (look_.legend && !legend_.empty()) {
    below += lay_out_legend(pad, width) + pad;
    for (LegendEntry& entry : legend_) {
      entry.rect.translate(0, look_.size.height() - below);
      entry.text_rect.translate(0, look_.size.height() - below);
    }
  }
  add(QString::fromUtf8(facets.warning));
  return below;
}

/// Fills columns from top to bottom; names are shown in full, wrapped if necessary.
double ChartPage::lay_out_legend(double left, double width) {
  const double em = look_.em, sample = (sample_width + 0.5) * em, gap = 1.2 * em;
  const QFont font = figure_font(em);
  double widest = 0;
  for (const LegendEntry& entry : legend_)
    widest = std::max(widest, QFontMetricsF(font).horizontalAdvance(entry.text) + 1);
  const double column = std::min(width, sample + std::ceil(widest) + 0.3 * em);
  const auto count = static_cast<int>(legend_.size());
  const int columns = std::clamp(static_cast<int>((width + gap) / (column + gap)), 1, count);
  const int rows = (count + columns - 1) / columns;
  double top = 0;
  for (int row = 0; row < rows; ++row) {
    double height = 0;
    for (int index = row; index < count; index += rows) {
      LegendEntry& entry = legend_[static_cast<std::size_t>(index)];
      const int before = index / rows;  // number of columns
      const double x = left + before * (column + gap), text_width = column - sample;
      const double text_height = size_of_lines(font, entry.text, text_width).height();
      entry.rect = QRectF(x, top, column, text_height + 0.2 * em);
      entry.text_rect = QRectF(x + sample, top + 0.1 * em, text_width, text_height);
      height = std::max(height, entry.rect.height());
    }
    top += height;
  }
  return top;
}

bool ChartPage::empty() const {
  return std::ranges::all_of(panels_, &ChartDrawing::empty);
}

void ChartPage::paint(QPainter& painter, int focused) const {
  const ThemeColors& colors = colors_of(look_.theme);
  painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
  painter.fillRect(QRectF(QPointF(), look_.size), colors.background);
  for (const Strip& strip : strips_) {
    painter.setPen(strip.is_title ? colors.text : colors.faint_text);
    draw_lines(painter, font_of(strip), strip.rect, strip.text);
  }
  if (look_.legend) paint_legend(painter, focused);
  for (const ChartDrawing& panel : panels_) panel.paint(painter);
}

void ChartPage::paint_legend(QPainter& painter, int focused) const {
  const ThemeColors& colors = colors_of(look_.theme);
  const double em = look_.em;
  for (std::size_t i = 0; i < legend_.size(); ++i) {
    const LegendEntry& entry = legend_[i];
    // A hidden series keeps its colour at reduced opacity.
    painter.setOpacity(entry.visible ? 1.0 : 0.35);
    draw_sample(painter, entry.style, look_.theme,
                QPointF(entry.rect.left(), entry.text_rect.top() + 0.68 * em), em,
                colors.background);
    painter.setOpacity(1.0);
    painter.setPen(entry.visible ? colors.text : colors.faint_text);
    draw_lines(painter, figure_font(em), entry.text_rect, entry.text);
    if (static_cast<int>(i) != focused) continue;
    painter.setPen(QPen(colors.selected, hair_width * em));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(entry.rect.adjusted(-0.2 * em, 0, 0.1 * em, 0));
  }
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

std::optional<int> ChartPage::legend_at(QPointF position) const {
  const auto found = std::ranges::find_if(
      legend_, [&](const LegendEntry& entry) { return entry.rect.contains(position); });
  return found == legend_.end() ? std::nullopt : std::optional<int>(found - legend_.begin());
}

QString ChartPage::coincidence_in_words(int entry) const {
  constexpr double close = 0.15;  // em: less than the line width of a marker
  const LegendEntry& own = legend_[static_cast<std::size_t>(entry)];
  QStringList lines;
  for (const ChartDrawing& panel : panels_) {
    const auto points = panel.stops_of(own.key);
    if (points.size() < 2) continue;
    QStringList names;
    for (const LegendEntry& other : legend_) {
      const bool coincides = other.key != own.key &&
                             std::ranges::equal(points, panel.stops_of(other.key),
                                                [&](const DrawnPoint* a, const DrawnPoint* b) {
                                                  const QLineF between(a->position, b->position);
                                                  return between.length() < close * look_.em;
                                                });
      if (coincides) names.append(other.text);
    }
    if (!names.isEmpty()) {
      lines.append(QStringLiteral("%1: coincides with %2")
                       .arg(panel.y_label(), names.join(QStringLiteral("; "))));
    }
  }
  return lines.join(QLatin1Char('\n'));
}

Printable printable(report::Facets facets) {
  const auto shared = std::make_shared<const report::Facets>(std::move(facets));
  const bool is_figure = shared->title.empty() && shared->panels.size() == 1;
  return {.title = is_figure ? shared->panels.front().title : shared->title,
          .about = about(*shared),
          .provenance = shared->provenance,
          .warning = shared->warning,
          .has_caption = !shared->provenance.empty(),
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
