// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_export.h"

#include <QFontMetricsF>
#include <QImage>
#include <algorithm>
#include <memory>
#include <utility>

#include "app/gui/charts/drawing_file.h"
#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/heat_image.h"
#include "app/gui/charts/heat_labels.h"
#include "app/gui/charts/mask_colors.h"

namespace attnscope::charts {
namespace {

/// Lengths in page units, all from the width and the font.
struct Plan {
  double em = 0, gap = 0, strip = 0, side = 0, top = 0, bar = 0, width = 0;
  double caption_top = 0, height = 0;
  double letters = 0, label = 0;   // of tokens along the axes: their size and room; 0: none
  std::vector<TokenGroup> legend;  // groups that are there
};

/// Makes room for tokens along the axes of a single map, where they are large enough to be read.
void plan_labels(const HeatFigure& figure, Plan& plan) {
  constexpr double least = 0.45;  // of em
  if (figure.panels.size() != 1 || figure.tokens.size() != figure.groups.size()) return;
  const MapRegion& region = figure.panels.front().map.region();
  const auto tokens = static_cast<double>(std::max(region.rows.size(), region.columns.size()));
  const auto letters_in = [&](double side) {
    return std::min(small_text * plan.em, 0.9 * side / tokens);
  };
  double letters = letters_in(plan.side);
  double room = 0;
  for (int pass = 0; pass < 2; ++pass) {  // their room makes the map smaller, and so the letters
    const QFontMetricsF metrics(figure_font(letters));
    double widest = 0;
    for (const TokenRange& range : {region.rows, region.columns}) {
      for (std::int64_t at = range.begin; at < range.end; ++at) {
        const QString label = token_label(figure.tokens[static_cast<std::size_t>(at)]);
        widest = std::max(widest, metrics.horizontalAdvance(label));
      }
    }
    room = widest + 0.5 * letters;
    letters = letters_in(plan.side - room);
    if (letters < least * plan.em) return;
  }
  plan.label = room;
  plan.letters = letters;
  plan.side -= plan.label;
}

std::vector<TokenGroup> groups_in(const std::vector<TokenGroup>& groups) {
  std::vector<TokenGroup> there;
  for (const TokenGroup group : token_groups) {
    if (std::ranges::find(groups, group) != groups.end()) there.push_back(group);
  }
  return there;
}

QFont caption_font(double em) {
  return figure_font(em * small_text);
}

double caption_height(const std::string& caption, const Plan& plan) {
  if (caption.empty()) return 0;
  const QFontMetricsF metrics(caption_font(plan.em));
  return metrics.boundingRect(QRectF(0, 0, plan.width, 1e7), Qt::TextWordWrap,
                              QString::fromStdString(caption))
                 .height() *
             1.1 +
         0.6 * plan.em;
}

Plan plan_of(const HeatFigure& figure, const FigureOptions& options) {
  Plan plan;
  plan.width = units_of_mm(options.width_mm);
  plan.em = options.font_pt * units_per_point;
  plan.gap = 1.2 * plan.em;
  plan.strip = 0.5 * plan.em;
  const auto count = static_cast<double>(figure.panels.size());
  plan.side = (plan.width - (count - 1) * plan.gap) / count - 1.25 * plan.strip;
  plan_labels(figure, plan);
  plan.top = (options.title ? 1.6 * plan.em : 0) + plan.label + 1.25 * plan.strip;
  plan.bar = 0.7 * plan.em;
  plan.legend = groups_in(figure.groups);
  const double legend_bottom = plan.top + plan.side + 0.7 * plan.em + plan.bar + 3.6 * plan.em;
  plan.caption_top = legend_bottom;
  plan.height = legend_bottom + caption_height(options.caption, plan);
  return plan;
}

/// Rows' tokens left of their strip, columns' tokens above theirs.
void paint_labels(QPainter& painter, const HeatFigure& figure, const QRectF& map,
                  const MapRegion& region, const Plan& plan) {
  if (plan.letters == 0) return;
  const double away = 1.5 * plan.strip;
  const QColor color = colors_of(ChartTheme::light).text;
  const auto paint = [&](const QRectF& room, Qt::Orientation orientation, const TokenRange& range) {
    paint_token_labels(painter, room, orientation, figure.tokens, static_cast<double>(range.begin),
                       static_cast<double>(range.size()), plan.letters, color);
  };
  paint({map.left() - away - plan.label, map.top(), plan.label, map.height()}, Qt::Vertical,
        region.rows);
  paint({map.left(), map.top() - away - plan.label, map.width(), plan.label}, Qt::Horizontal,
        region.columns);
}

void paint_panel(QPainter& painter, const HeatFigure& figure, const HeatPanel& panel, double left,
                 const Plan& plan, bool titles) {
  const QRectF map(left + plan.label + 1.25 * plan.strip, plan.top, plan.side, plan.side);
  if (titles) {
    painter.setFont(figure_font(plan.em, true));
    painter.setPen(colors_of(ChartTheme::light).text);
    painter.drawText(
        QRectF(left, 0, plan.label + plan.side + 1.25 * plan.strip, 1.5 * plan.em),
        Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetricsF(painter.font())
            .elidedText(panel.title, Qt::ElideRight, plan.label + plan.side + plan.strip));
  }
  // Printers smooth a small image: its cells are made pixels here, so that they stay sharp.
  QImage image = heat_image(panel.map, panel.scale, ChartTheme::light);
  const int dots = static_cast<int>(plan.side / (72 * units_per_point) * 600);
  const int times = std::max(1, dots / std::max(1, image.width()));
  image = image.scaled(image.width() * times, image.height() * times);
  painter.drawImage(map, image);
  const MapRegion& region = panel.map.region();
  const double away = 1.25 * plan.strip;
  paint_token_strip(painter, {map.left(), map.top() - away, map.width(), plan.strip},
                    Qt::Horizontal, figure.groups, static_cast<double>(region.columns.begin),
                    static_cast<double>(region.columns.size()), ChartTheme::light);
  paint_token_strip(painter, {map.left() - away, map.top(), plan.strip, map.height()}, Qt::Vertical,
                    figure.groups, static_cast<double>(region.rows.begin),
                    static_cast<double>(region.rows.size()), ChartTheme::light);
  paint_labels(painter, figure, map, region, plan);
  painter.setFont(figure_font(plan.em * small_text));
  paint_color_bar(painter, {map.left(), map.bottom() + 0.7 * plan.em, map.width(), plan.bar},
                  panel.scale, ChartTheme::light);
}

void paint_legend(QPainter& painter, const Plan& plan) {
  double left = 1.25 * plan.strip;
  const double top = plan.caption_top - 1.5 * plan.em;
  painter.setFont(figure_font(plan.em * small_text));
  const QFontMetricsF metrics(painter.font());
  const auto entry = [&](const QColor& color, const QString& text) {
    painter.fillRect(QRectF(left, top + 0.2 * plan.em, 0.8 * plan.em, 0.8 * plan.em), color);
    painter.setPen(colors_of(ChartTheme::light).text);
    const double width = metrics.horizontalAdvance(text) + 1;
    painter.drawText(QRectF(left + 1.1 * plan.em, top, width, 1.2 * plan.em),
                     Qt::AlignLeft | Qt::AlignVCenter, text);
    left += 1.1 * plan.em + width + 1.2 * plan.em;
  };
  for (const TokenGroup group : plan.legend) {
    entry(margin_color(group, ChartTheme::light), group_title(group));
  }
  entry(not_allowed_color(ChartTheme::light), QStringLiteral("not allowed"));
}

void paint_page(QPainter& painter, const HeatFigure& figure, const FigureOptions& options,
                const Plan& plan) {
  painter.fillRect(QRectF(0, 0, plan.width, plan.height), Qt::white);
  double left = 0;
  for (const HeatPanel& panel : figure.panels) {
    paint_panel(painter, figure, panel, left, plan, options.title);
    left += plan.side + 1.25 * plan.strip + plan.gap;
  }
  paint_legend(painter, plan);
  if (options.caption.empty()) return;
  painter.setFont(caption_font(plan.em));
  painter.setPen(colors_of(ChartTheme::light).faint_text);
  painter.drawText(
      QRectF(0, plan.caption_top + 0.4 * plan.em, plan.width, plan.height - plan.caption_top),
      Qt::TextWordWrap, QString::fromStdString(options.caption));
}

using SharedFigure = std::shared_ptr<const HeatFigure>;

Result<LaidOut> lay_out(const SharedFigure& figure, const FigureOptions& options) {
  if (figure->panels.empty()) return fail("there are no weights to draw yet");
  const Plan plan = plan_of(*figure, options);
  if (plan.side < 4 * plan.em) {
    return fail("{} maps of at least four letters' width do not fit {} mm at {} pt",
                figure->panels.size(), options.width_mm, options.font_pt);
  }
  return LaidOut{QSizeF(plan.width, plan.height), [figure, options, plan](QPainter& painter) {
                   paint_page(painter, *figure, options, plan);
                 }};
}

}  // namespace

Printable printable(HeatFigure figure) {
  const auto shared = std::make_shared<const HeatFigure>(std::move(figure));
  return {.title = shared->title,
          .about = {},
          .provenance = shared->provenance,
          .has_series = false,
          .has_height = false,
          .has_caption = true,
          .lay_out = [shared](const FigureOptions& options,
                              bool /*vectors*/) { return lay_out(shared, options); },
          .csv = [shared](const FigureOptions& /*options*/) -> Result<std::string> {
            return shared->numbers;
          }};
}

}  // namespace attnscope::charts
