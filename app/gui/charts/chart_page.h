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

class ChartPage {
 public:
  struct Look {
    ChartDrawing::Page page;
    AxisRanges ranges = {};
    std::vector<QString> placeholders = {};  // of single panels; else the page's
    double least_panel_width = 0;            // em; a narrower page has fewer columns
  };

  /// As many columns as the facets ask for, or as leave a panel 19 em.
  ChartPage(const report::Facets& facets, ContenderStyles& styles, const Look& look);

  /// `focused_series` gets a frame around its legend entry (-1: none).
  void paint(QPainter& painter, int focused_series = -1) const;

  [[nodiscard]] const std::vector<ChartDrawing>& panels() const { return panels_; }
  /// Of all panels' contenders; the numbers are those of series().
  [[nodiscard]] const std::vector<LegendEntry>& legend() const { return foot().legend(); }
  [[nodiscard]] const std::vector<DrawnSeries>& series() const { return foot().series(); }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] int columns() const { return columns_; }
  /// Below this, plots cannot be read; and what gives them a good shape.
  [[nodiscard]] double least_height() const { return least_height_; }
  [[nodiscard]] double good_height() const { return good_height_; }

  /// The panel at a position, and the value in it that is nearest, within `radius`.
  [[nodiscard]] std::optional<std::size_t> panel_at(QPointF position) const;
  [[nodiscard]] const DrawnPoint* nearest(QPointF position, double radius) const;
  [[nodiscard]] const LegendEntry* legend_at(QPointF position) const {
    return foot().legend_at(position);
  }

 private:
  /// What has the legend: the last strip, or the only panel.
  [[nodiscard]] const ChartDrawing& foot() const { return foot_ ? *foot_ : panels_.front(); }
  void lay_out_panels(const report::Facets& facets, ContenderStyles& styles, const Look& look);

  std::optional<ChartDrawing> head_, foot_;
  std::vector<ChartDrawing> panels_;
  int columns_ = 1;
  double least_height_ = 0, good_height_ = 0;
};

}  // namespace attnscope::charts
