#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Open Sans, compiled in: a machine without fonts would draw boxes and embed nothing in a PDF.

#include <QFont>
#include <QFontInfo>
#include <QString>
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

}  // namespace attnscope::charts
