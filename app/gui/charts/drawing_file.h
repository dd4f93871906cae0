#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Paints a page into a .pdf, .svg or .png. The painter's unit is 1/20 point in every format, so one
// drawing works for all.

#include <QByteArray>
#include <QPainter>
#include <QSizeF>
#include <QString>
#include <filesystem>
#include <functional>

#include "base/result.h"

namespace attnscope::charts {

inline constexpr double units_per_point = 20;
inline constexpr double unbounded = 1e7;  // units, for a height that follows from the width
[[nodiscard]] constexpr double units_of_mm(double mm) {
  return mm / 25.4 * 72 * units_per_point;
}

enum class FileFormat { pdf, svg, png };
/// Derived from the extension, case-insensitive; the error lists the three formats.
[[nodiscard]] Result<FileFormat> format_of(const std::filesystem::path& path);

struct FilePage {
  QSizeF size;  // units
  QString title;
  QString description;  // provenance; kept inside the file
  double png_dpi = 300;
};

/// The file's bytes; the same drawing gives the same bytes. `paint` gets a painter with the unit
/// 1/20 point and a page of size `page.size`.
[[nodiscard]] Result<QByteArray> draw_bytes(FileFormat format, const FilePage& page,
                                            const std::function<void(QPainter&)>& paint);

}  // namespace attnscope::charts
