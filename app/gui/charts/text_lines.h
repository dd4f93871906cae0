#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Text broken at blanks alone: "head-major" and "sdpa-mask" are words, which Qt would break at
// their hyphens. Only a word that is wider than the page is broken within.

#include <QFont>
#include <QPainter>
#include <QRectF>
#include <QSizeF>
#include <QString>
#include <QStringList>

namespace attnscope::charts {

[[nodiscard]] QStringList lines_of(const QFont& font, const QString& text, double width);
/// The size that those lines take.
[[nodiscard]] QSizeF size_of_lines(const QFont& font, const QString& text, double width);
/// In the painter's font, from the rectangle's top on, in lines as wide as it.
void draw_lines(QPainter& painter, const QFont& font, const QRectF& rect, const QString& text);

}  // namespace attnscope::charts
