#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// How charts, masks and maps look: the colours of a light and a dark window (exports are light),
// the style of each contender, and the compiled-in font.
//
// One style (colour, dash, marker) per contender of a run, the same in every chart and export. In
// ten slots, no two share a colour or a marker, so that a figure is readable in grey and for
// colour-blind readers. Beyond ten, colours and markers are recombined and remain distinct.
//
//   ContenderStyles styles(ids_of_all_contenders_of_the_run);
//   draw_sample(painter, styles.style("sparse/segment/4"), ChartTheme::light, left, em, Qt::white);
//
// Open Sans is compiled in: without it, a machine without fonts would draw boxes and embed no font
// in a PDF. Text is broken only at spaces: Qt would also break words such as "head-major" and
// "sdpa-mask" at their hyphens. Only a word wider than the page is broken.

#include <QColor>
#include <QFont>
#include <QFontInfo>
#include <QPainter>
#include <QPalette>
#include <QPen>
#include <QString>
#include <QStringList>
#include <QVector>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

enum class Marker {
  circle,
  square,
  triangle_up,
  diamond,
  ring,
  triangle_down,
  open_square,
  open_diamond,
  cross,
  plus,
};

struct ContenderStyle {
  int slot = 0;
  QColor light;
  QColor dark;
  QVector<qreal> dash;  // in pen widths, as QPen expects; empty: solid
  Marker marker = Marker::circle;

  [[nodiscard]] QColor color(ChartTheme theme) const {
    return theme == ChartTheme::light ? light : dark;
  }
  [[nodiscard]] QPen pen(ChartTheme theme, double width) const;
};

[[nodiscard]] ContenderStyle style_of_slot(int slot);

// In em.
inline constexpr double line_width = 0.12, marker_size = 0.62, sample_width = 2.5;

/// All shapes have equal visual weight. `size` is the diameter; open shapes are filled with
/// `background`.
void draw_marker(QPainter& painter, Marker marker, QPointF center, double size, const QColor& color,
                 const QColor& background);
/// A sample of the contender's line with its marker, starting at `left`, for legends and tables.
void draw_sample(QPainter& painter, const ContenderStyle& style, ChartTheme theme, QPointF left,
                 double em, const QColor& background);

class ContenderStyles {
 public:
  ContenderStyles() = default;
  /// `ids`: all contenders of the run, so that charts of a subset use the same styles. Well-known
  /// ids have fixed slots; the others take the free slots in alphabetical order.
  explicit ContenderStyles(std::span<const std::string> ids);

  /// An id that is not in the run gets the next free slot and keeps it. An id without the window
  /// that the run's ids have gets the style of the first of those.
  [[nodiscard]] ContenderStyle style(std::string_view id);

 private:
  std::map<std::string, int, std::less<>> slots_;
  [[nodiscard]] int free_slot() const;
  void bind(const std::string& id);
};

inline constexpr double small_text = 0.85;  // of em: captions, notes, labels next to the plot

/// The compiled-in family, loaded on the first call. Requires a QGuiApplication.
[[nodiscard]] const QString& figure_font_family();

/// `pixel_size` is in the painter's units. Unhinted, so that widths scale from screen to paper.
[[nodiscard]] QFont figure_font(double pixel_size, bool bold = false);

/// Pixel size of a font.
[[nodiscard]] inline double em_of(const QFont& font) {
  return QFontInfo(font).pixelSize();
}

/// Replaces the hyphen before a number by a minus sign: "(−48 %)"; dates and names are unchanged.
[[nodiscard]] QString with_minus(QString text);

/// Lines of at most `width`, with minus signs.
[[nodiscard]] QStringList lines_of(const QFont& font, const QString& text, double width);
/// The size of those lines.
[[nodiscard]] QSizeF size_of_lines(const QFont& font, const QString& text, double width);
/// Draws in the painter's colour from the rectangle's top, wrapped at the rectangle's width.
void draw_lines(QPainter& painter, const QFont& font, const QRectF& rect, const QString& text);

}  // namespace attnscope::charts
