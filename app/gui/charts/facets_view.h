#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// FacetsView shows report::Facets as small multiples: a RunChart for each panel on shared axes,
// with one title and one legend around them, as the exported figure has them. Whatever one panel
// can do it does for all: hidden series, zoom, scales.
//
//   auto* view = new FacetsView(this);
//   view->set_contenders(ids_of_all_contenders_of_the_run);
//   view->set_facets(facets);
//   connect(view, &FacetsView::export_wanted, ...);   // printable(view->shown_facets())

#include <QScrollArea>
#include <string>
#include <vector>

#include "app/gui/charts/figure_options.h"
#include "app/gui/charts/run_chart.h"
#include "engine/report/figure.h"

class QGridLayout;
class QLabel;

namespace attnscope::charts {

class FacetsView : public QScrollArea {
  Q_OBJECT
 public:
  explicit FacetsView(QWidget* parent = nullptr);

  void set_facets(const report::Facets& facets);
  [[nodiscard]] const report::Facets& facets() const { return facets_; }
  void set_contenders(const std::vector<std::string>& ids);
  /// Shown while there is no panel.
  void set_placeholder(const QString& text);

  /// For export: without hidden series, on the scales chosen here.
  [[nodiscard]] report::Facets shown_facets() const;
  [[nodiscard]] FigureOptions shown_options() const;

  /// The panels, in their order; and the legend beneath them.
  [[nodiscard]] const std::vector<RunChart*>& charts() const { return charts_; }
  [[nodiscard]] RunChart* legend() const { return legend_; }
  [[nodiscard]] int columns() const { return columns_; }

 public Q_SLOTS:
  void set_series_visible(const QString& style_key, bool visible);
  void set_intervals_shown(bool shown);
  void set_crossovers_shown(bool shown);
  void set_x_scale(attnscope::charts::OptionalScale scale);
  void set_y_scale(attnscope::charts::OptionalScale scale);

 Q_SIGNALS:
  void series_toggled(const QString& style_key, bool visible);
  void cell_chosen(qint64 cell);
  void export_wanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void adopt(RunChart& chart);
  void arrange();
  void update_ground();

  report::Facets facets_;
  std::vector<std::string> contenders_;
  std::vector<RunChart*> charts_;
  QGridLayout* grid_;
  QLabel* title_;
  QLabel* placeholder_;
  RunChart* legend_;
  int columns_ = 0;
};

}  // namespace attnscope::charts
