// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/chart_theme.h"

namespace attnscope::charts {

ChartTheme theme_of(const QPalette& palette) {
  return palette.color(QPalette::Window).lightness() <
                 palette.color(QPalette::WindowText).lightness()
             ? ChartTheme::dark
             : ChartTheme::light;
}

const ThemeColors& colors_of(ChartTheme theme) {
  static const ThemeColors light{.background = QColor(0xff, 0xff, 0xff),
                                 .text = QColor(0x1c, 0x1c, 0x1c),
                                 .faint_text = QColor(0x66, 0x66, 0x66),
                                 .axis = QColor(0x55, 0x55, 0x55),
                                 .grid = QColor(0xdd, 0xdd, 0xdd),
                                 .minor_grid = QColor(0xf0, 0xf0, 0xf0),
                                 .rail = QColor(0xf6, 0xf3, 0xee),
                                 .selected = QColor(0x00, 0x5f, 0xcc)};
  static const ThemeColors dark{.background = QColor(0x1e, 0x1f, 0x22),
                                .text = QColor(0xe8, 0xe8, 0xe8),
                                .faint_text = QColor(0xa0, 0xa0, 0xa0),
                                .axis = QColor(0xa8, 0xa8, 0xa8),
                                .grid = QColor(0x3c, 0x3e, 0x43),
                                .minor_grid = QColor(0x2a, 0x2c, 0x30),
                                .rail = QColor(0x2c, 0x2a, 0x27),
                                .selected = QColor(0x6c, 0xb2, 0xff)};
  return theme == ChartTheme::light ? light : dark;
}

}  // namespace attnscope::charts
