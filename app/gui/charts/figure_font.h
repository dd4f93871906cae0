#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Open Sans, compiled in: a machine without fonts would draw boxes and embed nothing in a PDF; and
// text broken at blanks alone: "head-major" and "sdpa-mask" are words, which Qt would break at
// their hyphens. Only a word that is wider than the page is broken within.

#include <QFont>
#include <QFontInfo>
#include <QPainter>
#include <QString>
#include <QStringList>
#include <QWidget>

namespace attnscope::charts {

inline constexpr double small_text = 0.85;  // of em: captions, notes, labels beside the plot

/// The compiled-in family, loaded at the first call. Needs a QGuiApplication.
[[nodiscard]] const QString& figure_font_family();

/// `pixel_size` is in the painter's own unit. Not hinted, so that widths scale from screen to
/// paper.
[[nodiscard]] QFont figure_font(double pixel_size, bool bold = false);

/// The size of the widget's own font.
[[nodiscard]] inline double em_of(const QWidget& widget) {
  return QFontInfo(widget.font()).pixelSize();
}

/// On a screen or a page a number's sign is a minus, not a hyphen: "(−48 %)"; dates and names stay.
[[nodiscard]] QString with_minus(QString text);

/// With minus signs.
[[nodiscard]] QStringList lines_of(const QFont& font, const QString& text, double width);
/// The size that those lines take.
[[nodiscard]] QSizeF size_of_lines(const QFont& font, const QString& text, double width);
/// In the painter's colour, from the rectangle's top on, in lines as wide as it.
void draw_lines(QPainter& painter, const QFont& font, const QRectF& rect, const QString& text);

}  // namespace attnscope::charts
