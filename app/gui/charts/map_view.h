#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MapView: a square of token pairs, rows attending to columns, with hovering, zooming and moving;
// the subclasses MaskView and HeatView define the content.
//
// Mouse: hover names a pair, a click pins it; the wheel zooms about the cursor, a drag moves the
// zoomed map, Shift+drag frames the area to zoom into; a double click shows all. Keyboard: arrow
// keys move the pinned pair, with Shift by ten, with Ctrl the map; + and - zoom, 0 shows all,
// Escape unpins the pair.
//
// Work that takes longer than a frame runs on a thread: the old picture, or a coarse one, stays
// until the final one is ready.

#include <QImage>
#include <QString>
#include <QWidget>
#include <optional>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/drawing/map.h"
#include "app/gui/session/latest_job.h"

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
  /// A pair outside the tokens unpins.
  void pin(qint64 row, qint64 column);

  /// Zooms about the pinned pair; without one, about the middle.
  void zoom_by(double factor);
  /// `pixels`: logical pixels per token; the pair is centred.
  void zoom_to(double pixels, qint64 row, qint64 column);
  void show_all();
  [[nodiscard]] const MapFocus& focus() const { return focus_; }
  void set_focus(const MapFocus& focus);
  /// The displayed cells, in device pixels.
  [[nodiscard]] const QImage& cells() const { return cells_; }

 Q_SIGNALS:
  /// The pair under the cursor; (-1, -1) when the cursor leaves the cells.
  void hovered(qint64 row, qint64 column);
  /// The pair that the user pinned; (-1, -1): none, also emitted when Escape finds no pinned pair.
  void pinned(qint64 row, qint64 column);
  /// The user zoomed or moved the map.
  void focus_moved(const attnscope::charts::MapFocus& focus);
  /// The final picture is ready.
  void settled();

 protected:
  explicit MapView(const QString& name, QWidget* parent);

  /// Whether there is a map to paint; otherwise message_ is shown.
  [[nodiscard]] virtual bool has_map() const = 0;
  [[nodiscard]] virtual bool can_zoom() const { return true; }
  /// Precondition of square() and paint_map(): has_map().
  [[nodiscard]] virtual const MapSquare& square() const = 0;
  virtual void paint_map(QPainter& painter) = 0;
  /// Called when an input of the picture has changed.
  virtual void invalidate() = 0;
  /// A sentence about a pair, for the tool tip and the accessible description.
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
  /// For other tokens: nothing is hovered, and a pinned pair outside of them is unpinned.
  void keep_valid_pairs();
  /// Shows a sentence; the subclass then has no map.
  void show_sentence(const QString& sentence);
  /// Resets the zoom to all tokens, for example for new tokens.
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
  std::optional<Pair> hovered_, pinned_, pinned_before_;  // a double click restores its pin
  std::optional<QPointF> press_, drag_from_;
  std::optional<QRectF> frame_;
};

}  // namespace attnscope::charts
