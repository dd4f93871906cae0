#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One style (colour, dash, marker) per contender of a run, the same in every chart and export. In
// ten slots, no two share a colour or a marker, so that a figure is readable in grey and for
// colour-blind readers. Beyond ten, colours and markers are recombined and remain distinct.
//
//   ContenderStyles styles(ids_of_all_contenders_of_the_run);
//   draw_sample(painter, styles.style("sparse/segment/4"), ChartTheme::light, left, em, Qt::white);

#include <QColor>
#include <QPainter>
#include <QPen>
#include <QVector>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/drawing/chart_theme.h"

namespace attnscope::charts {

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

}  // namespace attnscope::charts
