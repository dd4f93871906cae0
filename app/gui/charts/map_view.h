#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MapView: a square of pairs of tokens, rows attending to columns, that is pointed at, zoomed and
// moved alike whatever it shows; MaskView and HeatView say what that is.
//
// Mouse: hover names a pair, a click pins it; the wheel zooms about the cursor, a drag moves what
// is zoomed, with Shift it frames what to zoom into; a double click shows all. Keyboard: arrow keys
// move the pinned pair, with Shift by ten, with Ctrl the map; + and - zoom, 0 shows all, Escape
// lets the pair go.
//
// What takes longer than a frame is done on a thread: the picture stays, or is a coarse one, until
// the finer one is there.

#include <QImage>
#include <QString>
#include <QWidget>
#include <optional>
#include <utility>

#include "app/gui/background/latest_job.h"
#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/map_axis.h"

namespace attnscope::charts {

class MapView : public QWidget {
  Q_OBJECT
 public:
  using Pair = std::pair<qint64, qint64>;  // row, column

  [[nodiscard]] ChartTheme theme() const { return theme_of(palette()); }

  /// The pair at a widget position; nothing outside the cells.
  [[nodiscard]] std::optional<Pair> pair_at(QPointF position) const;
  /// Centre of a pair's cell, the inverse of pair_at.
  [[nodiscard]] QPointF position_of(qint64 row, qint64 column) const;
  [[nodiscard]] std::optional<Pair> pinned_pair() const { return pinned_; }
  /// Outside the tokens: nothing is pinned.
  void pin(qint64 row, qint64 column);

  /// About the pinned pair, without one about the middle.
  void zoom_by(double factor);
  /// `pixels` logical ones per token, with this pair in the middle.
  void zoom_to(double pixels, qint64 row, qint64 column);
  void show_all();
  [[nodiscard]] const MapFocus& focus() const { return focus_; }
  void set_focus(const MapFocus& focus);
  /// The cells as they are shown, in device pixels.
  [[nodiscard]] const QImage& cells() const { return cells_; }

 Q_SIGNALS:
  /// The pair under the cursor; (-1, -1) when the cursor leaves the cells.
  void hovered(qint64 row, qint64 column);
  /// The pair that a person pinned; (-1, -1): none, also said when Escape finds none.
  void pinned(qint64 row, qint64 column);
  /// A person zoomed or moved the map.
  void focus_moved(const attnscope::charts::MapFocus& focus);
  /// The finest picture is there.
  void settled();

 protected:
  explicit MapView(const QString& name, QWidget* parent);

  /// There is something to paint; else message_ is shown.
  [[nodiscard]] virtual bool has_map() const = 0;
  [[nodiscard]] virtual bool can_zoom() const { return true; }
  /// Precondition of this and the next: has_map().
  [[nodiscard]] virtual const MapSquare& square() const = 0;
  virtual void paint_map(QPainter& painter) = 0;
  /// Something that the picture is made of has changed.
  virtual void invalidate() = 0;
  /// A sentence on a pair, the tool tip and a part of the description.
  [[nodiscard]] virtual QString explain_pair(Pair /*pair*/) const { return {}; }
  virtual void describe() {}

  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

  [[nodiscard]] bool is_pair(Pair pair) const;
  void hover(std::optional<Pair> pair);
  /// All tokens are shown from now on, which may be others.
  void forget_focus() { focus_ = {}; }

  QString message_;
  QImage cells_;
  LatestJob refiner_;

 private:
  void move_to(const MapFocus& focus);
  void zoom_about(QPointF position, double factor);
  void frame(const QRectF& part);
  bool move_pair(const QKeyEvent& event);
  bool move_map(const QKeyEvent& event);
  void keep_in_sight(Pair pair);
  void paint_pair(QPainter& painter, Pair pair, bool is_pinned) const;

  MapFocus focus_;
  std::optional<Pair> hovered_, pinned_, pinned_before_;  // a double click gives its pin back
  std::optional<QPointF> press_, drag_from_;
  std::optional<QRectF> frame_;
};

}  // namespace attnscope::charts
