// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_bar.h"

#include <QPainter>

#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/heat_image.h"

namespace attnscope::charts {

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
