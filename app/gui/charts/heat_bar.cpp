// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_bar.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {
namespace {

/// A number of a scale in few characters: "0.02", "1e-4", "1".
QString weight_words(double value) {
  if (value == 0) return QStringLiteral("0");
  const double size = std::abs(value);
  if (size < 0.001) {
    return QString::number(value, 'e', 0).replace(QLatin1String("e-0"), QLatin1String("e-"));
  }
  return QString::number(value, 'g', 2);
}

}  // namespace

void paint_color_bar(QPainter& painter, const QRectF& rect, const HeatScale& scale,
                     ChartTheme theme) {
  QImage image(heat_steps, 1, QImage::Format_RGB32);
  for (int step = 0; step < heat_steps; ++step) {
    image.setPixelColor(step, 0, heat_color(scale.value(step / (heat_steps - 1.0)), scale, theme));
  }
  painter.save();
  painter.drawImage(rect, image);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colors_of(theme).axis, rect.height() / 16));
  painter.drawRect(rect);
  painter.setPen(colors_of(theme).text);
  const QFontMetricsF metrics(painter.font(), painter.device());
  const double height = metrics.height() * 1.2;
  const bool whole_decades = scale.logarithmic && !scale.difference;
  const int ticks = whole_decades ? static_cast<int>(HeatScale::decades) : 2;
  for (int tick = 0; tick <= ticks; ++tick) {
    const double at = static_cast<double>(tick) / ticks;
    QString text = weight_words(scale.difference && tick == 1 ? 0 : scale.value(at));
    if (whole_decades && tick == 0) text.prepend(QStringLiteral("≤ "));
    const double width = metrics.horizontalAdvance(text) + 1;
    const double center = rect.left() + at * rect.width();
    const double left = std::clamp(center - width / 2, rect.left(), rect.right() - width);
    painter.drawText(QRectF(left, rect.bottom() + height * 0.1, width, height * 0.9),
                     Qt::AlignHCenter | Qt::AlignTop, text);
  }
  painter.restore();
}

HeatBar::HeatBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  set_scale({});
}

void HeatBar::set_scale(const HeatScale& scale) {
  scale_ = scale;
  setAccessibleName(scale.difference ? tr("Colours of differences") : tr("Colours of weights"));
  setAccessibleDescription(tr("%1 to %2, %3")
                               .arg(weight_words(scale.value(0)), weight_words(scale.value(1)),
                                    scale.logarithmic ? tr("logarithmic") : tr("linear")));
  setToolTip(scale.difference ? tr("Weight under B minus weight under A")
                              : tr("Attention weight; of pairs that share a pixel, the largest"));
  update();
}

QSize HeatBar::sizeHint() const {
  return {12 * fontMetrics().averageCharWidth(), (5 * fontMetrics().height()) / 2};
}

QSize HeatBar::minimumSizeHint() const {
  return sizeHint();
}

void HeatBar::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setFont(figure_font(QFontInfo(font()).pixelSize()));
  const double line = fontMetrics().height();
  paint_color_bar(painter, QRectF(1, 1, width() - 2, 0.7 * line), scale_, theme_of(palette()));
}

}  // namespace attnscope::charts
