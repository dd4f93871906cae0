#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One heat's square. Each state has its own drawing or letter besides its colour.

#include <QPalette>
#include <QRect>

#include "app/gui/session/heats.h"

class QPainter;

namespace attnscope::gui {

void paint_heat_mark(QPainter& painter, const QRect& square, HeatState state,
                     const QPalette& palette);

}  // namespace attnscope::gui
