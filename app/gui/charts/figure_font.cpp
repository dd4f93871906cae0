// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/figure_font.h"

#include <QFontDatabase>
#include <QStringList>
#include <algorithm>
#include <cassert>
#include <cmath>

// Outside any namespace, as Qt's macro demands; a static library's resources are not found without.
static void register_font_resource() {
  Q_INIT_RESOURCE(fonts);
}

namespace attnscope::charts {
namespace {

QString load(const QString& path) {
  const int id = QFontDatabase::addApplicationFont(path);
  const QStringList families = QFontDatabase::applicationFontFamilies(id);
  assert(!families.isEmpty());
  return families.isEmpty() ? QString() : families.first();
}

}  // namespace

const QString& figure_font_family() {
  static const QString family = [] {
    register_font_resource();
    load(QStringLiteral(":/fonts/OpenSans-Semibold.ttf"));
    return load(QStringLiteral(":/fonts/OpenSans-Regular.ttf"));
  }();
  return family;
}

QFont figure_font(double pixel_size, bool bold) {
  QFont font(figure_font_family());
  font.setPixelSize(std::max(1, static_cast<int>(std::lround(pixel_size))));
  font.setWeight(bold ? QFont::DemiBold : QFont::Normal);
  font.setHintingPreference(QFont::PreferNoHinting);
  font.setStyleStrategy(QFont::StyleStrategy(QFont::PreferAntialias | QFont::PreferOutline));
  return font;
}

}  // namespace attnscope::charts
