// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/chart_style.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <QPolygonF>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <initializer_list>
#include <utility>

// Outside any namespace, as Qt's macro requires; without it, the resources of a static library are
// not found.
static void register_font_resource() {
  Q_INIT_RESOURCE(fonts);
}

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

namespace {

struct Slot {
  QRgb light;  // at least 3:1 against white
  QRgb dark;   // at least 3:1 against the dark background
  Marker marker;
};

// Dense baselines are black and grey; the two windows of one implementation share a hue, dark and
// light. The hues are distinguishable for colour-blind readers (after Okabe and Ito, and Tol).
constexpr std::array<Slot, 10> slots{{
    {0xff1a1a1a, 0xfff2f2f2, Marker::circle},
    {0xff808080, 0xffa6a6a6, Marker::square},
    {0xff9a4f00, 0xffd9822b, Marker::triangle_up},
    {0xffd98a1f, 0xfff5c77e, Marker::triangle_down},
    {0xff0060a8, 0xff4a9fe0, Marker::diamond},
    {0xff3d9bdc, 0xffa3d3f7, Marker::open_diamond},
    {0xff006b4f, 0xff25a57f, Marker::ring},
    {0xff30a583, 0xff8fe0c6, Marker::open_square},
    {0xffb01f5a, 0xfff0639b, Marker::cross},
    {0xff7b52c0, 0xffb596ee, Marker::plus},
}};
constexpr int slot_count = static_cast<int>(slots.size());

const std::array<QVector<qreal>, 5>& dashes() {
  static const std::array<QVector<qreal>, 5> patterns{
      QVector<qreal>{}, QVector<qreal>{5, 2.5}, QVector<qreal>{1.5, 2},
      QVector<qreal>{6, 2, 1.5, 2}, QVector<qreal>{3, 2}};
  return patterns;
}

// The dash of each slot: within a pair of windows one is solid and the other is not.
constexpr std::array<int, 10> dash_of_slot{0, 1, 3, 2, 0, 1, 0, 4, 3, 2};

constexpr std::array<std::pair<std::string_view, int>, 11> known{{
    {"full/dense", 0},
    {"full/sdpa", 1},
    {"sparse/sdpa-mask", 2},
    {"sparse/sdpa-mask/4", 2},
    {"sparse/sdpa-mask/64", 3},
    {"sparse/windowed", 4},
    {"sparse/windowed/4", 4},
    {"sparse/windowed/64", 5},
    {"sparse/segment", 6},
    {"sparse/segment/4", 6},
    {"sparse/segment/64", 7},
}};

// Keys that never share a chart with contenders: a re-ranker's stages, which are parts of one bar,
// the best regions of documents, and token groups, in hues near those of the margins of maps.
constexpr std::array<std::pair<std::string_view, int>, 10> separate_keys{{{"cls", 0},
                                                                          {"query", 4},
                                                                          {"document", 3},
                                                                          {"sentence", 8},
                                                                          {"offline", 4},
                                                                          {"load", 8},
                                                                          {"online", 7},
                                                                          {"region 1", 3},
                                                                          {"region 2", 5},
                                                                          {"region 3", 7}}};

int known_slot(std::string_view id) {
  const auto it = std::ranges::find(known, id, &std::pair<std::string_view, int>::first);
  return it == known.end() ? -1 : it->second;
}

QPolygonF polygon(QPointF center, double radius, std::initializer_list<QPointF> corners) {
  QPolygonF result;
  for (const QPointF& corner : corners) result << center + corner * radius;
  return result;
}

}  // namespace

void draw_marker(QPainter& painter, Marker marker, QPointF center, double size, const QColor& color,
                 const QColor& background) {
  const double r = size / 2;
  const double half = r * std::sqrt(M_PI) / 2;  // a square with the circle's area
  const double stroke = size * 0.2;
  const bool open =
      marker == Marker::ring || marker == Marker::open_square || marker == Marker::open_diamond;
  const bool lines = marker == Marker::cross || marker == Marker::plus;
  painter.setPen(open || lines ? QPen(color, stroke, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin)
                               : QPen(Qt::NoPen));
  painter.setBrush(open ? QBrush(background) : QBrush(color));
  const double inset = open ? stroke / 2 : 0;
  const QPointF half_square(half - inset, half - inset);
  switch (marker) {
    case Marker::circle:
    case Marker::ring:
      painter.drawEllipse(center, r - inset, r - inset);
      break;
    case Marker::square:
    case Marker::open_square:
      painter.drawRect(QRectF(center - half_square, center + half_square));
      break;
    case Marker::diamond:
    case Marker::open_diamond:
      painter.drawPolygon(
          polygon(center, (r - inset * 0.7) * 1.15, {{0, -1}, {1, 0}, {0, 1}, {-1, 0}}));
      break;
    case Marker::triangle_up:
      painter.drawPolygon(polygon(center, r * 1.2, {{0, -1}, {0.9, 0.65}, {-0.9, 0.65}}));
      break;
    case Marker::triangle_down:
      painter.drawPolygon(polygon(center, r * 1.2, {{0, 1}, {0.9, -0.65}, {-0.9, -0.65}}));
      break;
    case Marker::cross:
      painter.drawLine(center + QPointF(-half, -half), center + QPointF(half, half));
      painter.drawLine(center + QPointF(-half, half), center + QPointF(half, -half));
      break;
    case Marker::plus:
      painter.drawLine(center + QPointF(-r, 0), center + QPointF(r, 0));
      painter.drawLine(center + QPointF(0, -r), center + QPointF(0, r));
      break;
  }
}

void draw_sample(QPainter& painter, const ContenderStyle& style, ChartTheme theme, QPointF left,
                 double em, const QColor& background) {
  const QPointF right = left + QPointF(sample_width * em, 0);
  painter.setPen(style.pen(theme, line_width * em));
  painter.drawLine(left, right);
  draw_marker(painter, style.marker, (left + right) / 2, marker_size * em, style.color(theme),
              background);
}

QPen ContenderStyle::pen(ChartTheme theme, double width) const {
  QPen pen(color(theme), width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
  if (!dash.isEmpty()) pen.setDashPattern(dash);
  return pen;
}

ContenderStyle style_of_slot(int slot) {
  const int base = slot % slot_count;
  const int lap = slot / slot_count;  // each lap combines the colours with other markers and dashes
  const Slot& color = slots[static_cast<std::size_t>(base)];
  const auto dash = static_cast<std::size_t>((dash_of_slot[static_cast<std::size_t>(base)] + lap) %
                                             static_cast<int>(dashes().size()));
  return {.slot = slot,
          .light = QColor::fromRgb(color.light),
          .dark = QColor::fromRgb(color.dark),
          .dash = dashes()[dash],
          .marker = slots[static_cast<std::size_t>((base + lap) % slot_count)].marker};
}

ContenderStyles::ContenderStyles(std::span<const std::string> ids) {
  std::vector<std::string> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  for (const std::string& id : sorted) {
    if (known_slot(id) >= 0) bind(id);
  }
  for (const std::string& id : sorted) bind(id);
}

ContenderStyle ContenderStyles::style(std::string_view id) {
  for (const auto& [key, slot] : separate_keys) {
    if (id == key) return style_of_slot(slot);
  }
  auto it = slots_.find(id);
  if (it == slots_.end()) {
    // The id without a window gets the style of its first window.
    const std::string of_windows = std::string(id) + "/";
    const auto window = slots_.lower_bound(of_windows);
    if (window != slots_.end() && window->first.starts_with(of_windows)) {
      it = slots_.emplace(id, window->second).first;
    } else {
      bind(std::string(id));
      it = slots_.find(id);
    }
  }
  return style_of_slot(it->second);
}

int ContenderStyles::free_slot() const {
  const auto taken = [this](int slot) {
    return std::ranges::any_of(slots_, [slot](const auto& entry) { return entry.second == slot; });
  };
  // Prefer the two slots that no well-known contender has.
  for (const int slot : {8, 9}) {
    if (!taken(slot)) return slot;
  }
  int slot = 0;
  while (taken(slot)) ++slot;
  return slot;
}

void ContenderStyles::bind(const std::string& id) {
  if (slots_.contains(id)) return;
  const int wanted = known_slot(id);
  const bool free = wanted >= 0 && std::ranges::none_of(slots_, [wanted](const auto& entry) {
                      return entry.second == wanted;
                    });
  slots_.emplace(id, free ? wanted : free_slot());
}

namespace {

QString load(const QString& path) {
  const int id = QFontDatabase::addApplicationFont(path);
  const QStringList families = QFontDatabase::applicationFontFamilies(id);
  assert(!families.isEmpty());
  return families.isEmpty() ? QString() : families.first();
}

/// Length of the longest prefix of `word` that fits; at least 1.
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
