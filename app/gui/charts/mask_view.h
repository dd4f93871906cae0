#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MaskView draws which token may attend to which, coloured by token group pair, from the plan's
// intervals: the n x n matrix never exists. Rows attend, columns are attended. With a second
// pattern on the same item it draws the difference of the two.
//
//   auto* view = new MaskView(this);
//   Status shown = view->show_mask(pattern, Window::of(4), {.cls = 1, .query = 11, .documents =
//   {500}});
//   view->set_style(MaskStyle::true_scale);
//   connect(view, &MaskView::hovered, this, [=](qint64 row, qint64 column) {
//     label->setText(view->explain(row, column)); });
//
// A click pins a pair, the arrow keys move it (with Shift by ten), Escape lets it go. Style true:
// wheel or + and - zoom, dragging or Ctrl and an arrow key pan, double click or Home shows all.
//
// What takes longer than a frame is done on a thread: the picture stays, or is a coarse one, until
// the finer one is there.

#include <QImage>
#include <QString>
#include <QWidget>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/latest_job.h"
#include "app/gui/charts/mask_drawing.h"
#include "app/gui/charts/mask_problem.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/base/result.h"

namespace attnscope::charts {

/// Where a zoomed view looks, in tokens, so that a view of another size can look there too.
struct MaskFocus {
  double tokens = 0;      // from edge to edge; 0: all of them
  AxisPlace row, column;  // in the middle
};

class MaskView : public QWidget {
  Q_OBJECT
 public:
  explicit MaskView(QWidget* parent = nullptr);
  ~MaskView() override;

  /// One item. On an error (a missing window, sizes < 0, more than a million tokens
  /// unless in style schematic) the view shows
  /// the sentence and no mask. The zoom stays when the sizes stay.
  Status show_mask(const AttentionPattern& pattern, std::optional<Window> window,
                   const LayoutItem& item);
  Status show_difference(const MaskSource& a, const MaskSource& b, const LayoutItem& item);
  void set_style(MaskStyle style);
  [[nodiscard]] MaskStyle style() const { return style_; }
  /// Margins and cells alone, for several views side by side.
  void set_compact(bool compact);
  /// Without a call the view follows the palette's lightness.
  void set_theme(ChartTheme theme);
  [[nodiscard]] ChartTheme theme() const;

  /// What is drawn: in style schematic that is a small stand-in with its own sizes and window.
  /// Null before show_mask, after an error, and while the first large mask is being made.
  [[nodiscard]] const MaskProblem* problem() const { return problem_.get(); }
  /// Of a difference, the second one; else null.
  [[nodiscard]] const MaskProblem* other() const { return other_.get(); }
  /// What is shown is what was asked for last, in its finest picture.
  [[nodiscard]] bool is_settled() const;
  /// The rule that decides a pair of the drawn tokens, as a sentence.
  [[nodiscard]] QString explain(qint64 query_token, qint64 key_token) const;

  /// The pair (row, column) at a widget position; nothing outside the cells.
  [[nodiscard]] std::optional<std::pair<qint64, qint64>> pair_at(QPointF position) const;
  /// Centre of a pair's cell, the inverse of pair_at.
  [[nodiscard]] QPointF position_of(qint64 query_token, qint64 key_token) const;
  [[nodiscard]] std::optional<std::pair<qint64, qint64>> pinned_pair() const { return pinned_; }
  /// Outside the tokens: nothing is pinned.
  void pin(qint64 query_token, qint64 key_token);

  /// Style true only: `pixels_per_token` logical pixels, with this pair in the middle.
  void zoom_to(double pixels_per_token, qint64 query_token, qint64 key_token);
  void show_all();
  [[nodiscard]] MaskFocus focus() const;
  void set_focus(const MaskFocus& focus);

  /// Query rows looked at for the picture (of a million tokens, a sample).
  [[nodiscard]] qint64 rows_sampled() const { return rows_sampled_; }
  /// The cells as they are shown, in device pixels; and as one rendering in one go has them.
  [[nodiscard]] const QImage& cells() const { return cells_; }
  [[nodiscard]] QImage cells_at_once() const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  /// The pair under the cursor; (-1, -1) when the cursor leaves the cells.
  void hovered(qint64 query_token, qint64 key_token);
  /// The pair that a person pinned; (-1, -1): none.
  void pinned(qint64 query_token, qint64 key_token);
  /// A person zoomed or panned.
  void focus_moved(const attnscope::charts::MaskFocus& focus);
  /// A mask that was made on the thread turned out not to be possible.
  void refused(const QString& sentence);
  void settled();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  using ProblemPointer = std::shared_ptr<const MaskProblem>;

  Status show_sources(MaskSource a, std::optional<MaskSource> b, const LayoutItem& item);
  Status rebuild();
  Status refuse(const Error& error);
  void adopt(ProblemPointer problem, ProblemPointer other);
  void describe();
  void invalidate();
  void render_cells(const MaskDrawing& mask);
  void refine(const MaskDrawing& mask, bool has_coarse);
  void paint_pair(QPainter& painter, const MaskDrawing& mask, std::pair<qint64, qint64> pair,
                  bool is_pinned) const;
  [[nodiscard]] const MaskDrawing& drawing() const;
  [[nodiscard]] bool is_pair(qint64 query_token, qint64 key_token) const;
  void zoom_about(QPointF position, double factor);
  void pan_by(QPointF pixels);
  bool move_pair(QKeyEvent* event);
  bool move_mask(QKeyEvent* event);
  void keep_in_sight(std::pair<qint64, qint64> pair);
  void hover(std::optional<std::pair<qint64, qint64>> pair);

  std::optional<MaskSource> a_, b_;
  LayoutItem item_;
  MaskStyle style_ = MaskStyle::schematic;
  bool is_compact_ = false;
  std::optional<ChartTheme> theme_;
  QString message_;
  ProblemPointer problem_, other_;
  MaskViewport viewport_;
  std::optional<std::pair<qint64, qint64>> hovered_, pinned_;
  std::optional<QPointF> press_, drag_from_;
  mutable std::unique_ptr<MaskDrawing> drawing_;
  QImage cells_;  // at device resolution, or coarser while is_coarse_
  bool is_stale_ = true;
  bool is_coarse_ = false;
  qint64 rows_sampled_ = 0;
  LatestJob maker_, refiner_;
};

}  // namespace attnscope::charts
