#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MaskDrawing: a mask laid out on a page: cells, coloured margins, group names, legend. Lengths
// follow from `em` as in ChartDrawing. Cells are rendered from the rows' key intervals: where a
// pixel holds many pairs its strength is the share of pairs that are allowed.

#include <QColor>
#include <QImage>
#include <QPainter>
#include <QRectF>
#include <QString>
#include <optional>
#include <utility>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/mask_axis.h"
#include "app/gui/charts/mask_problem.h"

namespace attnscope::charts {

/// Colour of an allowed pair, greens that turn with the attending group and darken with the
/// attended.
[[nodiscard]] QColor pair_color(TokenGroup from, TokenGroup to, ChartTheme theme);
/// Colour of a token in the margin: black [CLS], blue query, yellow document, red sentence start.
[[nodiscard]] QColor margin_color(TokenGroup group, ChartTheme theme);
/// "[CLS]", "query", "document", "sentence start".
[[nodiscard]] QString group_title(TokenGroup group);

struct MaskLegendEntry {
  TokenGroup from = TokenGroup::cls;
  TokenGroup to = TokenGroup::cls;
  QString text;  // "document → document, window 4"
  QRectF rect;
};

class MaskDrawing {
 public:
  struct Page {
    QSizeF size;
    double em = 12;
    ChartTheme theme = ChartTheme::light;
    bool title = false;
    bool legend = true;
  };

  MaskDrawing(const MaskProblem& problem, MaskStyle style, const MaskViewport& viewport, Page page);

  /// Everything but the cells.
  void paint_frame(QPainter& painter) const;
  /// The cells as rectangles; for few tokens (see cells_fit_vectors).
  void paint_cells(QPainter& painter) const;
  [[nodiscard]] bool cells_fit_vectors() const;

  struct Cells {
    QImage image;  // covers cells_rect()
    qint64 rows_sampled = 0;
  };
  /// The cells as pixels, `pixels_per_unit` of them to the page's unit.
  [[nodiscard]] Cells render_cells(double pixels_per_unit) const;

  [[nodiscard]] const QRectF& cells_rect() const { return cells_; }
  [[nodiscard]] const MaskAxis& axis() const { return axis_; }  // rows and columns alike
  [[nodiscard]] const std::vector<MaskLegendEntry>& legend() const { return legend_; }
  [[nodiscard]] double height_around_cells() const { return height_around_cells_; }
  [[nodiscard]] double width_around_cells() const { return width_around_cells_; }

  [[nodiscard]] std::optional<std::pair<qint64, qint64>> pair_at(QPointF position) const;
  [[nodiscard]] QRectF cell_rect(qint64 query_token, qint64 key_token) const;

 private:
  void lay_out();
  double lay_out_legend(double top);
  void collect_legend();
  void paint_margins(QPainter& painter) const;
  void paint_group_names(QPainter& painter) const;
  void paint_breaks(QPainter& painter) const;
  void paint_legend(QPainter& painter) const;

  const MaskProblem& problem_;
  MaskStyle style_;
  Page page_;
  MaskAxis axis_;
  QString title_;
  QRectF cells_;
  std::vector<MaskLegendEntry> legend_;
  double margin_ = 0;  // thickness of the coloured margins
  double height_around_cells_ = 0;
  double width_around_cells_ = 0;
};

}  // namespace attnscope::charts
