#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Tokens written along the axes of a map of weights, as many as can be read.

#include <QColor>
#include <QRectF>
#include <QString>
#include <string>
#include <vector>

class QPainter;

namespace attnscope::charts {

/// A token's text as it is drawn: without what would break a line, and short.
[[nodiscard]] QString token_label(const std::string& token);

/// Writes tokens from `first` on, `extent` of them, evenly along `room`: beside a vertical axis
/// they end at its right, above a horizontal one they begin at its bottom and are read from below.
/// Where letters of that size would touch, every second, third ... token is written.
void paint_token_labels(QPainter& painter, const QRectF& room, Qt::Orientation orientation,
                        const std::vector<std::string>& tokens, double first, double extent,
                        double letters, const QColor& color);

}  // namespace attnscope::charts
