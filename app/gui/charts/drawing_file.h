#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A page painted into a .pdf, .svg or .png. The painter's unit is 1/20 point on every format, so
// one drawing serves all.

#include <QByteArray>
#include <QPainter>
#include <QSizeF>
#include <QString>
#include <filesystem>
#include <functional>

#include "kernels/base/result.h"

namespace attnscope::charts {

inline constexpr double units_per_point = 20;
inline constexpr double unbounded = 1e7;  // units, of a height that follows from the width
[[nodiscard]] constexpr double units_of_mm(double mm) {
  return mm / 25.4 * 72 * units_per_point;
}

enum class FileFormat { pdf, svg, png };
/// From the extension, in any case; an error names the three.
[[nodiscard]] Result<FileFormat> format_of(const std::filesystem::path& path);

struct FilePage {
  QSizeF size;  // units
  QString title;
  QString description;  // provenance; kept inside the file
  double png_dpi = 300;
};

/// The file's bytes, the same whenever the same is drawn. `paint` gets a painter whose unit is 1/20
/// point and whose page is `page.size` big.
[[nodiscard]] Result<QByteArray> draw_bytes(FileFormat format, const FilePage& page,
                                            const std::function<void(QPainter&)>& paint);

}  // namespace attnscope::charts
