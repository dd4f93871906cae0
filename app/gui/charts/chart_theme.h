#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The colours every chart and mask shares, for a light and for a dark window. Exports are light.

#include <QColor>
#include <QPalette>

namespace attnscope::charts {

enum class ChartTheme { light, dark };

/// Qt 6.4 does not tell a dark desktop; the lightness of the window's own palette does.
[[nodiscard]] ChartTheme theme_of(const QPalette& palette);

struct ThemeColors {
  QColor background;
  QColor text;
  QColor faint_text;  // notes, placeholders; still 4.5:1 on the background
  QColor axis;
  QColor grid;
  QColor minor_grid;
  QColor rail;      // ground of the rail that carries `oom` and failures
  QColor selected;  // the ring around the point under the cursor, focus frames
};
[[nodiscard]] const ThemeColors& colors_of(ChartTheme theme);

}  // namespace attnscope::charts
