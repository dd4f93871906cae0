#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// ChartPage: any number of charts on one page, with one title above and one legend below all of
// them; what a widget shows and what goes into a file. Panels are compared by eye: axes of the same
// meaning reach as far as any, and show the same part.
//
//   ContenderStyles styles(ids_of_all_contenders);
//   ChartPage(facets_of(figure), styles, look).paint(painter);
//   write_printable(printable(figure), "fig2a.pdf", options);   // see printable.h

#include <QPainter>
#include <optional>
#include <vector>

#include "app/gui/charts/chart_drawing.h"
#include "app/gui/charts/printable.h"
#include "engine/report/figure.h"

namespace attnscope::charts {

/// A figure as the only panel of a page, whose title is the figure's.
[[nodiscard]] report::Facets facets_of(report::Figure figure);

/// One of the contenders of all panels.
struct LegendEntry {
  std::string key;
  QString text;  // the whole name, broken over lines where the page is narrow
  ContenderStyle style;
  bool visible = true;
  QRectF rect;  // the clickable area; empty where the page has no legend
  QRectF text_rect;
};

class ChartPage {
 public:
  struct Look : ChartLook {
    QSizeF size = {};  // without a height: to be measured, not drawn
    bool legend = true;
    QString caption = {};
    std::vector<QString> placeholders = {};  // of single panels; else the page's
    double least_panel_width = 0;            // em; a narrower page has fewer columns
  };

  /// As many columns as the facets ask for, or as leave a panel 19 em.
  ChartPage(const report::Facets& facets, ContenderStyles& styles, const Look& look);

  /// `focused` gets a frame around its legend entry (-1: none).
  void paint(QPainter& painter, int focused = -1) const;

  [[nodiscard]] const std::vector<ChartDrawing>& panels() const { return panels_; }
  [[nodiscard]] const std::vector<LegendEntry>& legend() const { return legend_; }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] QSizeF size() const { return look_.size; }
  [[nodiscard]] int columns() const { return columns_; }
  /// Below this, plots cannot be read; and what gives them a good shape.
  [[nodiscard]] double least_height() const { return least_height_; }
  [[nodiscard]] double good_height() const { return good_height_; }

  /// The panel at a position, and the value in it that is nearest, within `radius`.
  [[nodiscard]] std::optional<std::size_t> panel_at(QPointF position) const;
  [[nodiscard]] const DrawnPoint* nearest(QPointF position, double radius) const;
  /// The entry's place in the legend.
  [[nodiscard]] std::optional<int> legend_at(QPointF position) const;
  /// On which others that entry's curve lies at all its points, a panel a line: there, one alone is
  /// seen. Empty: on none.
  [[nodiscard]] QString coincidence_in_words(int entry) const;

 private:
  /// Words across the page.
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
