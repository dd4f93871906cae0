// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_colors.h"

#include <array>

namespace attnscope::charts {
namespace {

constexpr std::array<int, token_group_count> hue{168, 200, 104, 52};
constexpr std::array<int, token_group_count> saturation{120, 140, 115, 165};
constexpr std::array<int, token_group_count> light_lightness{52, 88, 128, 168};
constexpr std::array<int, token_group_count> dark_lightness{78, 112, 150, 190};

}  // namespace

QColor pair_color(TokenGroup from, TokenGroup to, ChartTheme theme) {
  const auto row = static_cast<std::size_t>(from);
  const auto column = static_cast<std::size_t>(to);
  const auto& lightness = theme == ChartTheme::light ? light_lightness : dark_lightness;
  return QColor(QColor::fromHsl(hue[row], saturation[row], lightness[column]).rgb());  // 8 bits
}

QColor ground_color(ChartTheme theme) {
  return theme == ChartTheme::light ? QColor(0xf0, 0xf0, 0xee) : QColor(0x2b, 0x2d, 0x31);
}

QColor difference_color(DifferencePart part, ChartTheme theme) {
  const bool light = theme == ChartTheme::light;
  switch (part) {
    case DifferencePart::only_a:
      return light ? QColor(0x1d, 0x62, 0xb0) : QColor(0x62, 0xa9, 0xf4);
    case DifferencePart::only_b:
      return light ? QColor(0xc4, 0x51, 0x0a) : QColor(0xff, 0xa0, 0x50);
    case DifferencePart::both:
      break;
  }
  return light ? QColor(0x9b, 0xa1, 0xa8) : QColor(0x78, 0x7e, 0x87);
}

int hatch_of(DifferencePart part) {
  if (part == DifferencePart::both) return 0;
  return part == DifferencePart::only_a ? 1 : -1;
}

QColor margin_color(TokenGroup group, ChartTheme theme) {
  const bool light = theme == ChartTheme::light;
  switch (group) {
    case TokenGroup::cls:
      return light ? QColor(0x11, 0x11, 0x11) : QColor(0xf2, 0xf2, 0xf2);
    case TokenGroup::query:
      return light ? QColor(0x2d, 0x6c, 0xb4) : QColor(0x5a, 0x9b, 0xe6);
    case TokenGroup::document:
      return QColor(0xf2, 0xc1, 0x2e);
    case TokenGroup::sentence:
      return light ? QColor(0xc9, 0x2f, 0x2a) : QColor(0xe8, 0x55, 0x4e);
  }
  return {};
}

QString group_title(TokenGroup group) {
  switch (group) {
    case TokenGroup::cls:
      return QStringLiteral("[CLS]");
    case TokenGroup::query:
      return QStringLiteral("query");
    case TokenGroup::document:
      return QStringLiteral("document");
    case TokenGroup::sentence:
      return QStringLiteral("sentence start");
  }
  return {};
}

}  // namespace attnscope::charts
