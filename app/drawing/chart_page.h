#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// ChartPage lays out any number of charts on one page, with one title above and one legend below.
// Widgets show it and files contain it. Panels are compared by eye: axes with the same meaning have
// the same extent and show the same range.
//
//   ContenderStyles styles(ids_of_all_contenders);
//   ChartPage(facets_of(figure), styles, look).paint(painter);
//   write_printable(printable(figure), "fig2a.pdf", options);   // see printable.h

#include <QPainter>
#include <optional>
#include <vector>

#include "app/drawing/chart_drawing.h"
#include "app/drawing/printable.h"
#include "engine/report/figure.h"

namespace attnscope::charts {

/// A page with the figure as its only panel and the figure's title.
[[nodiscard]] report::Facets facets_of(report::Figure figure);

/// A contender that occurs in any panel.
struct LegendEntry {
  std::string key;
  QString text;  // full name, wrapped where the page is narrow
  ContenderStyle style;
  bool visible = true;
  QRectF rect;  // the clickable area; empty where the page has no legend
  QRectF text_rect;
};

class ChartPage {
 public:
  struct Look : ChartLook {
    QSizeF size = {};  // without a height: only measured, not drawn
    bool legend = true;
    QString caption = {};
    std::vector<QString> placeholders = {};  // of single panels; default: the page's
    double least_panel_width = 0;            // em; a narrower page has fewer columns
  };

  /// The facets' number of columns, or as many as leave a panel 19 em.
  ChartPage(const report::Facets& facets, ContenderStyles& styles, const Look& look);

  /// Index of the legend entry to frame: `focused` (-1: none).
  void paint(QPainter& painter, int focused = -1) const;

  [[nodiscard]] const std::vector<ChartDrawing>& panels() const { return panels_; }
  [[nodiscard]] const std::vector<LegendEntry>& legend() const { return legend_; }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] QSizeF size() const { return look_.size; }
  [[nodiscard]] int columns() const { return columns_; }
  /// The smallest height with readable plots, and the height that gives them a good shape.
  [[nodiscard]] double least_height() const { return least_height_; }
  [[nodiscard]] double good_height() const { return good_height_; }

  /// The panel at a position, and the value of that panel nearest to it, within `radius`.
  [[nodiscard]] std::optional<std::size_t> panel_at(QPointF position) const;
  [[nodiscard]] const DrawnPoint* nearest(QPointF position, double radius) const;
  /// The legend entry at a position.
  [[nodiscard]] std::optional<int> legend_at(QPointF position) const;
  /// Names the other entries whose curves coincide with this entry's at all points, one line per
  /// panel: only one of these curves is visible. Empty: none.
  [[nodiscard]] QString coincidence_in_words(int entry) const;

 private:
  /// Text across the page.
  struct Strip {
    QRectF rect;
    QString text;
    bool is_title = false;
  };
  double lay_out_title(const QString& title);
  double lay_out_foot(const report::Facets& facets);
  double lay_out_legend(double left, double width);
  void paint_legend(QPainter& painter, int focused) const;
  [[nodiscard]] QFont font_of(const Strip& strip) const;

  Look look_;
  std::vector<Strip> strips_;
  std::vector<LegendEntry> legend_;
  std::vector<ChartDrawing> panels_;
  int columns_ = 1;
  double least_height_ = 0, good_height_ = 0;
};

}  // namespace attnscope::charts
