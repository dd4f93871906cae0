#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What Qt Charts draws of a ChartDrawing: axes with grid and labels, and lines. Between and above
// these it paints what Qt Charts has no word for, such as interval bars.

#include <QPainter>

namespace attnscope::charts {

class ChartDrawing;

/// On the application's thread alone, as all of QGraphicsScene. Qt Charts' own lengths are those of
/// a screen, so that paper, whose units are finer, is drawn on a smaller scene.
void paint_plot(const ChartDrawing& drawing, QPainter& painter);

}  // namespace attnscope::charts
