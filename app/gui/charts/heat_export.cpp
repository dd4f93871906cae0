// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_export.h"

#include <QFontMetricsF>
#include <QImage>
#include <algorithm>
#include <memory>
#include <utility>

#include "app/gui/charts/drawing_file.h"
#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/heat_bar.h"
#include "app/gui/charts/heat_drawing.h"
#include "app/gui/charts/mask_colors.h"

namespace attnscope::charts {
namespace {

/// Lengths in page units, all from the width and the font.
struct Plan {
  double em = 0, gap = 0, width = 0;
  std::vector<HeatDrawing> maps;   // of the panels
  std::vector<TokenGroup> legend;  // groups that are there
  double bar_top = 0, legend_top = 0, caption_top = 0, height = 0;
  [[nodiscard]] double left_of(std::size_t panel) const {
    return static_cast<double>(panel) * (width + gap) / static_cast<double>(maps.size());
  }
};

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

/// A region of as many rows as columns.
MapFocus focus_on(const MapRegion& region, std::int64_t tokens) {
  if (region.rows.size() == tokens) return {};
  const auto middle = [](TokenRange range) {
    return AxisPlace{.tokens = static_cast<double>(range.begin + range.end) / 2};
  };
  return {.tokens = static_cast<double>(region.rows.size()),
          .row = middle(region.rows),
          .column = middle(region.columns)};
}

Plan plan_of(const HeatFigure& figure, const FigureOptions& options) {
  Plan plan;
  plan.width = units_of_mm(options.width_mm);
  plan.em = options.font_pt * units_per_point;
  plan.gap = 0.8 * plan.em;
  const auto count = static_cast<double>(figure.panels.size());
  const QSizeF page((plan.width - (count - 1) * plan.gap) / count, unbounded);
  const HeatTokens along{std::make_shared<const std::vector<TokenGroup>>(figure.groups),
                         figure.tokens.empty()
                             ? nullptr
                             : std::make_shared<const std::vector<std::string>>(figure.tokens)};
  for (const HeatPanel& panel : figure.panels) {
    const auto focus =
        focus_on(panel.map.region(), static_cast<std::int64_t>(figure.groups.size()));
    plan.maps.emplace_back(along, focus,
                           HeatDrawing::Page{page, plan.em, ChartTheme::light,
                                             options.title ? panel.title : QString()});
  }
  plan.legend = groups_in(figure.groups);
  plan.bar_top = plan.maps.front().needed_height() + 0.4 * plan.em;
  plan.legend_top = plan.bar_top + 2.8 * plan.em;
  plan.caption_top = plan.legend_top + 1.5 * plan.em;
  plan.height = plan.caption_top + caption_height(options.caption, plan);
  return plan;
}

void paint_panel(QPainter& painter, const HeatPanel& panel, const HeatDrawing& map) {
  // Printers smooth a small image: its cells are made pixels here, so that they stay sharp.
  QImage image = heat_image(panel.map, panel.scale, ChartTheme::light);
  const int dots = static_cast<int>(map.square().rect.width() / (72 * units_per_point) * 600);
  const int times = std::max(1, dots / std::max(1, image.width()));
  image = image.scaled(image.width() * times, image.height() * times);
  map.paint(painter, image, panel.map.region());
}

/// One below all neighbours that share a scale.
void paint_bars(QPainter& painter, const HeatFigure& figure, const Plan& plan) {
  painter.setFont(figure_font(plan.em * small_text));
  for (std::size_t first = 0; first < figure.panels.size();) {
    std::size_t last = first;
    const HeatScale& scale = figure.panels[first].scale;
    while (last + 1 < figure.panels.size() && figure.panels[last + 1].scale == scale) ++last;
    const double left = plan.left_of(first) + plan.maps[first].square().rect.left();
    const double right = plan.left_of(last) + plan.maps[last].square().rect.right();
    paint_color_bar(painter, {left, plan.bar_top, right - left, 0.7 * plan.em}, scale,
                    ChartTheme::light);
    first = last + 1;
  }
}

void paint_legend(QPainter& painter, const Plan& plan) {
  double left = plan.maps.front().square().rect.left();
  painter.setFont(figure_font(plan.em * small_text));
  const QFontMetricsF metrics(painter.font());
  const auto entry = [&](const QColor& color, const QString& text) {
    painter.fillRect(QRectF(left, plan.legend_top + 0.2 * plan.em, 0.8 * plan.em, 0.8 * plan.em),
                     color);
    painter.setPen(colors_of(ChartTheme::light).text);
    const double width = metrics.horizontalAdvance(text) + 1;
    painter.drawText(QRectF(left + 1.1 * plan.em, plan.legend_top, width, 1.2 * plan.em),
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
  for (std::size_t panel = 0; panel < plan.maps.size(); ++panel) {
    painter.save();
    painter.translate(plan.left_of(panel), 0);
    paint_panel(painter, figure.panels[panel], plan.maps[panel]);
    painter.restore();
  }
  paint_bars(painter, figure, plan);
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
  if (plan.maps.front().square().rect.width() < 4 * plan.em) {
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
