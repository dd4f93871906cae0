#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Open Sans, compiled in: a machine without fonts would draw boxes and embed nothing in a PDF.

#include <QFont>
#include <QString>

namespace attnscope::charts {

/// The compiled-in family, loaded at the first call. Needs a QGuiApplication.
[[nodiscard]] const QString& figure_font_family();

/// `pixel_size` is in the painter's own unit. Not hinted, so that widths scale from screen to
/// paper.
[[nodiscard]] QFont figure_font(double pixel_size, bool bold = false);

}  // namespace attnscope::charts
