// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/figure_font.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <algorithm>
#include <cassert>
#include <cmath>

// Outside any namespace, as Qt's macro requires; without it, the resources of a static library are
// not found.
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

/// Length of the longest prefix of `word` that fits; at least one letter.
qsizetype letters_that_fit(const QFontMetricsF& metrics, const QString& word, double width) {
  qsizetype count = 1;
  while (count < word.size() && metrics.horizontalAdvance(word.left(count + 1)) <= width) ++count;
  return count;
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

QString with_minus(QString text) {
  for (qsizetype at = 0; at + 1 < text.size(); ++at) {
    if (text[at] != QLatin1Char('-') || !text[at + 1].isDigit()) continue;
    const QChar before = at == 0 ? QChar(u' ') : text[at - 1];
    if (before.isSpace() || QStringLiteral("(/[").contains(before)) text[at] = QChar(u'−');
  }
  return text;
}

QStringList lines_of(const QFont& font, const QString& text, double width) {
  const QFontMetricsF metrics(font);
  QStringList lines;
  for (const QString& paragraph : with_minus(text).split(QLatin1Char('\n'))) {
    QString line;
    for (QString word : paragraph.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
      const QString longer = line.isEmpty() ? word : line + QLatin1Char(' ') + word;
      if (metrics.horizontalAdvance(longer) <= width) {
        line = longer;
        continue;
      }
      if (!line.isEmpty()) lines.append(line);
      while (metrics.horizontalAdvance(word) > width && word.size() > 1) {
        const qsizetype count = letters_that_fit(metrics, word, width);
        lines.append(word.left(count));
        word.remove(0, count);
      }
      line = word;
    }
    lines.append(line);
  }
  return lines;
}

QSizeF size_of_lines(const QFont& font, const QString& text, double width) {
  const QFontMetricsF metrics(font);
  const QStringList lines = lines_of(font, text, width);
  double widest = 0;
  for (const QString& line : lines) widest = std::max(widest, metrics.horizontalAdvance(line));
  return {widest, metrics.lineSpacing() * static_cast<double>(lines.size())};
}

void draw_lines(QPainter& painter, const QFont& font, const QRectF& rect, const QString& text) {
  const QFontMetricsF metrics(font);
  painter.setFont(font);
  double base = rect.top() + metrics.ascent();
  for (const QString& line : lines_of(font, text, rect.width())) {
    painter.drawText(QPointF(rect.left(), base), line);
    base += metrics.lineSpacing();
  }
}

}  // namespace attnscope::charts
