#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The interactive square maps of token pairs: MapView has hovering, pinning, zooming and moving;
// HeatView shows the weights of a head, MaskView the mask of a pattern or the difference of two.

#include <QImage>
#include <QString>
#include <QWidget>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/drawing/chart_style.h"
#include "app/drawing/heat_drawing.h"
#include "app/drawing/map.h"
#include "app/drawing/mask_drawing.h"
#include "app/drawing/mask_problem.h"
#include "app/gui/session/latest_job.h"
#include "base/result.h"
#include "engine/inspect/head_summary.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope::charts {

/// MapView: a square of token pairs, rows attending to columns, with hovering, zooming and moving;
/// the subclasses MaskView and HeatView define the content.
///
/// Mouse: hover names a pair, a click pins it; the wheel zooms about the cursor, a drag moves the
/// zoomed map, Shift+drag frames the area to zoom into; a double click shows all. Keyboard: arrow
/// keys move the pinned pair, with Shift by ten, with Ctrl the map; + and - zoom, 0 shows all,
/// Escape unpins the pair.
///
/// Work that takes longer than a frame runs on a thread: the old picture, or a coarse one, stays
/// until the final one is ready.
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
  void scroll_to_pair(Pair pair);
  void paint_pair(QPainter& painter, Pair pair, bool is_pinned) const;

  MapFocus focus_;
  std::optional<Pair> hovered_, pinned_, pinned_before_;  // a double click restores its pin
  std::optional<QPointF> press_, drag_from_;
  std::optional<QRectF> frame_;
};

/// HeatView shows the weights of one head. Its pixels are computed off the GUI thread, and until
/// they are ready the previous picture is stretched. Dragging along the margin of the rows selects
/// rows.
///
///   view->show_weights(weights, summary, groups);
///   connect(view, &HeatView::rows_chosen, this, [](TokenRange rows) { ... });
class HeatView : public MapView {
  Q_OBJECT
 public:
  explicit HeatView(QWidget* parent = nullptr);

  void show_weights(std::shared_ptr<const WeightRows> weights,
                    std::shared_ptr<const HeadSummary> summary,
                    std::shared_ptr<const std::vector<TokenGroup>> groups);
  /// Texts of all tokens, drawn along the axes where there is room; null: none.
  void set_token_texts(std::shared_ptr<const std::vector<std::string>> tokens);
  /// Shows a sentence instead of a map.
  void show_message(const QString& message);
  void set_title(const QString& title);
  void set_scale(const HeatScale& scale);
  /// Rows to outline; empty: none.
  void set_chosen_rows(const std::vector<TokenRange>& rows);
  /// The column to mark; -1: none.
  void set_marked(qint64 column);

  [[nodiscard]] const QString& title() const { return title_; }
  [[nodiscard]] const HeatScale& scale() const { return scale_; }
  [[nodiscard]] qint64 tokens() const { return weights_ ? weights_->tokens() : 0; }
  /// Whether the pixels are those of the current request.
  [[nodiscard]] bool is_settled() const {
    return weights_ && !refiner_.is_busy() && !cells_.isNull();
  }
  /// The visible region in whole tokens. Precondition: weights are set.
  [[nodiscard]] MapRegion seen() const { return drawing().whole_tokens(); }
  [[nodiscard]] QRectF map_rect() const { return square().rect; }
  [[nodiscard]] QRectF row_margin() const { return drawing().row_margin(); }

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void rows_chosen(attnscope::TokenRange rows);

 protected:
  void showEvent(QShowEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  [[nodiscard]] bool has_map() const override { return weights_ != nullptr && !cells_.isNull(); }
  [[nodiscard]] const MapSquare& square() const override { return drawing().square(); }
  void paint_map(QPainter& painter) override;
  void invalidate() override;
  [[nodiscard]] const HeatDrawing& drawing() const;
  [[nodiscard]] qint64 row_at(double y) const;

  QString title_;
  std::shared_ptr<const WeightRows> weights_;
  std::shared_ptr<const HeadSummary> summary_;
  HeatTokens along_;
  HeatScale scale_;
  MapRegion region_;  // region of the cells
  mutable std::optional<HeatDrawing> drawing_;
  std::vector<TokenRange> chosen_rows_;
  qint64 marked_ = -1;
  std::optional<std::pair<qint64, qint64>> band_;  // first and last row of the drag in the margin
};

/// The colour bar of a scale.
class HeatBar : public QWidget {
  Q_OBJECT
 public:
  explicit HeatBar(QWidget* parent = nullptr);
  void set_scale(const HeatScale& scale);
  [[nodiscard]] const HeatScale& scale() const { return scale_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  HeatScale scale_;
};

/// MaskView draws which token may attend to which, coloured by token group pair, from the plan's
/// intervals: the n x n matrix is never built. Rows attend, columns are attended to. With a second
/// pattern on the same item it draws the difference of the two.
///
///   auto* view = new MaskView(this);
///   Status shown = view->show_mask(pattern, Window::of(4), {.cls = 1, .query = 11, .documents =
///   {500}});
///   view->set_style(MaskStyle::true_scale);
///   connect(view, &MaskView::hovered, this, [=](qint64 row, qint64 column) {
///     label->setText(view->explain(row, column)); });
class MaskView : public MapView {
  Q_OBJECT
 public:
  explicit MaskView(QWidget* parent = nullptr);

  /// Shows one item. On an error (a missing window, sizes < 0, more than a million tokens in the
  /// true-scale style) the view shows the error message and no mask. The zoom is kept if the sizes
  /// are unchanged.
  Status show_mask(const AttentionPattern& pattern, std::optional<Window> window,
                   const LayoutItem& item) {
    return show_difference({pattern, window}, std::nullopt, item);
  }
  /// Without `b`, shows the mask of `a`.
  Status show_difference(const MaskSource& a, const std::optional<MaskSource>& b,
                         const LayoutItem& item);
  void set_style(MaskStyle style);
  [[nodiscard]] MaskStyle style() const { return style_; }
  /// Only margins and cells, for several views side by side.
  void set_compact(bool compact);

  /// The drawn problem: in the schematic style, a small stand-in with its own sizes and window.
  /// Null before show_mask, after an error, and while the first large mask is being made.
  [[nodiscard]] const MaskProblem* problem() const { return masks_.a.get(); }
  [[nodiscard]] const DrawnMasks& masks() const { return masks_; }
  /// Whether the latest request is shown, in its final picture.
  [[nodiscard]] bool is_settled() const;
  /// The rule that decides a pair of the drawn tokens, as a sentence.
  [[nodiscard]] QString explain(qint64 query_token, qint64 key_token) const;

  /// Number of query rows processed for the picture (for a million tokens, a sample).
  [[nodiscard]] qint64 rows_sampled() const { return rows_sampled_; }
  /// The cells, rendered in a single pass.
  [[nodiscard]] QImage cells_at_once() const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 private:
  [[nodiscard]] bool has_map() const override { return masks_.a != nullptr; }
  [[nodiscard]] bool can_zoom() const override { return style_ == MaskStyle::true_scale; }
  [[nodiscard]] const MapSquare& square() const override { return drawing().square(); }
  void paint_map(QPainter& painter) override;
  void invalidate() override;
  [[nodiscard]] QString explain_pair(Pair pair) const override {
    return explain(pair.first, pair.second);
  }
  void describe() override;

  Status rebuild();
  Status refuse(const Error& error);
  void adopt(DrawnMasks masks);
  void render_picture();
  [[nodiscard]] const MaskDrawing& drawing() const;

  std::optional<MaskSource> a_, b_;
  LayoutItem item_;
  MaskStyle style_ = MaskStyle::schematic;
  bool is_compact_ = false;
  DrawnMasks masks_;
  mutable std::optional<MaskDrawing> drawing_;
  bool is_stale_ = true;
  bool is_coarse_ = false;
  qint64 rows_sampled_ = 0;
  LatestJob maker_;
};

}  // namespace attnscope::charts
