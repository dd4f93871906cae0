#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MaskView draws which token may attend to which, coloured by token group pair, from the plan's
// intervals: the n x n matrix never exists. Rows attend, columns are attended.
//
//   auto* view = new MaskView(this);
//   Status shown = view->show_mask(pattern, Window::of(4), {.cls = 1, .query = 11, .documents =
//   {500}}); view->set_style(MaskStyle::true_scale); connect(view, &MaskView::hovered, this,
//   [=](qint64 row, qint64 column) {
//     label->setText(view->explain(row, column)); });
//
// Style true: wheel or + and - zoom, dragging or the arrow keys pan, double click or Home shows
// all.

#include <QImage>
#include <QString>
#include <QWidget>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/mask_drawing.h"
#include "app/gui/charts/mask_problem.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/result.h"

namespace attnscope::charts {

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
  void set_style(MaskStyle style);
  [[nodiscard]] MaskStyle style() const { return style_; }
  /// Without a call the view follows the palette's lightness.
  void set_theme(ChartTheme theme);
  [[nodiscard]] ChartTheme theme() const;

  /// What is drawn: in style schematic that is a small stand-in with its own sizes and window.
  /// Null before show_mask and after an error.
  [[nodiscard]] const MaskProblem* problem() const { return problem_.get(); }
  /// The rule that decides a pair of the drawn tokens, as a sentence.
  [[nodiscard]] QString explain(qint64 query_token, qint64 key_token) const;

  /// The pair (row, column) at a widget position; nothing outside the cells.
  [[nodiscard]] std::optional<std::pair<qint64, qint64>> pair_at(QPointF position) const;
  /// Centre of a pair's cell, the inverse of pair_at.
  [[nodiscard]] QPointF position_of(qint64 query_token, qint64 key_token) const;
  /// Style true only: `pixels_per_token` logical pixels, with this pair in the middle.
  void zoom_to(double pixels_per_token, qint64 query_token, qint64 key_token);
  void show_all();

  /// Query rows looked at in the last paint (of a million tokens, a sample).
  [[nodiscard]] qint64 rows_sampled() const { return rows_sampled_; }

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  /// The pair under the cursor; (-1, -1) when the cursor leaves the cells.
  void hovered(qint64 query_token, qint64 key_token);

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
  Status rebuild();
  void invalidate();
  [[nodiscard]] const MaskDrawing& drawing() const;
  void zoom_about(QPointF position, double factor);
  void pan_by(QPointF pixels);
  void hover(std::optional<std::pair<qint64, qint64>> pair);

  std::optional<AttentionPattern> pattern_;
  std::optional<Window> window_;
  LayoutItem item_;
  MaskStyle style_ = MaskStyle::schematic;
  std::optional<ChartTheme> theme_;
  QString message_;
  std::unique_ptr<MaskProblem> problem_;
  MaskViewport viewport_;
  std::optional<std::pair<qint64, qint64>> hovered_;
  std::optional<QPointF> drag_from_;
  mutable std::unique_ptr<MaskDrawing> drawing_;
  QImage cells_;  // the rendered cells at device resolution; null: render at the next paint
  qint64 rows_sampled_ = 0;
};

}  // namespace attnscope::charts
