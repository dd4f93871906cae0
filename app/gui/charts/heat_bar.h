#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The colour bar of a scale, for paper and as a widget.

#include <QPainter>
#include <QWidget>

#include "app/gui/charts/heat_colors.h"

namespace attnscope::charts {

/// The ramp along `rect` (lying), with numbers below it in the painter's font.
void paint_color_bar(QPainter& painter, const QRectF& rect, const HeatScale& scale,
                     ChartTheme theme);

class HeatBar : public QWidget {
  Q_OBJECT
 public:
  explicit HeatBar(QWidget* parent = nullptr);
  void set_scale(const HeatScale& scale);
  [[nodiscard]] const HeatScale& scale() const { return scale_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  HeatScale scale_;
};

}  // namespace attnscope::charts
