#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Draws the ten marker shapes at equal visual weight.

#include <QPainter>

#include "app/gui/charts/contender_style.h"

namespace attnscope::charts {

/// `size` is the marker's diameter; open shapes are filled with `background`.
void draw_marker(QPainter& painter, Marker marker, QPointF center, double size, const QColor& color,
                 const QColor& background);

}  // namespace attnscope::charts
