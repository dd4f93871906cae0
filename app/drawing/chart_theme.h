#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The colours of all charts and masks, for a light and a dark window. Exports are light.

#include <QColor>
#include <QPalette>

namespace attnscope::charts {

enum class ChartTheme { light, dark };

/// Qt 6.4 does not report a dark desktop, so the lightness of the window's palette decides.
[[nodiscard]] ChartTheme theme_of(const QPalette& palette);

struct ThemeColors {
  QColor background;
  QColor text;
  QColor faint_text;  // notes, placeholders; contrast of at least 4.5:1 on the background
  QColor axis;
  QColor grid;
  QColor minor_grid;
  QColor rail;      // background of the rail that shows `oom` and failures
  QColor selected;  // the ring around the point under the cursor, focus frames
};
[[nodiscard]] const ThemeColors& colors_of(ChartTheme theme);

}  // namespace attnscope::charts
