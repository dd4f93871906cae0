#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Open Sans, compiled in: without it, a machine without fonts would draw boxes and embed no font in
// a PDF. Text is broken only at spaces: Qt would also break words such as "head-major" and
// "sdpa-mask" at their hyphens. Only a word wider than the page is broken.

#include <QFont>
#include <QFontInfo>
#include <QPainter>
#include <QString>
#include <QStringList>

namespace attnscope::charts {

inline constexpr double small_text = 0.85;  // of em: captions, notes, labels next to the plot

/// The compiled-in family, loaded on the first call. Requires a QGuiApplication.
[[nodiscard]] const QString& figure_font_family();

/// `pixel_size` is in the painter's units. Unhinted, so that widths scale from screen to paper.
[[nodiscard]] QFont figure_font(double pixel_size, bool bold = false);

/// Pixel size of a font.
[[nodiscard]] inline double em_of(const QFont& font) {
  return QFontInfo(font).pixelSize();
}

/// Replaces the hyphen before a number by a minus sign: "(−48 %)"; dates and names are unchanged.
[[nodiscard]] QString with_minus(QString text);

/// Lines of at most `width`, with minus signs.
[[nodiscard]] QStringList lines_of(const QFont& font, const QString& text, double width);
/// The size of those lines.
[[nodiscard]] QSizeF size_of_lines(const QFont& font, const QString& text, double width);
/// Draws in the painter's colour from the rectangle's top, wrapped at the rectangle's width.
void draw_lines(QPainter& painter, const QFont& font, const QRectF& rect, const QString& text);

}  // namespace attnscope::charts
