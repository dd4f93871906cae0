#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Weights as pixels, and the parts that every picture of them has: the colour bar and the strips of
// token groups.

#include <QImage>
#include <QPainter>
#include <QRectF>
#include <span>

#include "app/gui/charts/heat_colors.h"
#include "engine/inspect/pooled_map.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope::charts {

/// One pixel a cell.
[[nodiscard]] QImage heat_image(const PooledMap& map, const HeatScale& scale, ChartTheme theme);

/// A number of a scale in few characters: "0.02", "1e-4", "1".
[[nodiscard]] QString weight_words(double value);

/// The ramp along `rect` (lying), with numbers below it in the painter's font.
void paint_color_bar(QPainter& painter, const QRectF& rect, const HeatScale& scale,
                     ChartTheme theme);
/// Height that paint_color_bar needs below the ramp.
[[nodiscard]] double color_bar_text_height(const QPainter& painter);

/// The tokens [first, first + extent) of an axis as a strip of group colours.
void paint_token_strip(QPainter& painter, const QRectF& strip, Qt::Orientation along,
                       std::span<const TokenGroup> groups, double first, double extent,
                       ChartTheme theme);

}  // namespace attnscope::charts
