#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MaskView draws which token may attend to which, coloured by token group pair, from the plan's
// intervals: the n x n matrix is never built. Rows attend, columns are attended to. With a second
// pattern on the same item it draws the difference of the two.
//
//   auto* view = new MaskView(this);
//   Status shown = view->show_mask(pattern, Window::of(4), {.cls = 1, .query = 11, .documents =
//   {500}});
//   view->set_style(MaskStyle::true_scale);
//   connect(view, &MaskView::hovered, this, [=](qint64 row, qint64 column) {
//     label->setText(view->explain(row, column)); });

#include <optional>

#include "app/drawing/mask_drawing.h"
#include "app/drawing/mask_problem.h"
#include "app/gui/charts/map_view.h"
#include "base/result.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope::charts {

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
