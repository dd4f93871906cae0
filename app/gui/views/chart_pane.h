#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One of the two charts of a run, or its panels, under the selector of what it shows.

#include <QWidget>

#include "app/gui/session/snapshot.h"

class QComboBox;
class QStackedWidget;

namespace attnscope::charts {
class FacetsView;
class RunChart;
}  // namespace attnscope::charts

namespace attnscope::gui {

class ChartPane : public QWidget {
  Q_OBJECT
 public:
  /// `side` is part of the accessible names: "left", "right".
  ChartPane(const QString& name, const QString& side, report::YAxis view,
            QWidget* parent = nullptr);

  void show_run(const RunSnapshot& run, const QString& waiting);
  void set_contenders(const std::vector<std::string>& ids);
  /// Beneath the single chart; panels always have their own.
  void set_legend_shown(bool shown);
  [[nodiscard]] report::YAxis view() const;
  void set_view(report::YAxis view);
  [[nodiscard]] charts::RunChart* chart() const { return chart_; }
  [[nodiscard]] charts::FacetsView* panels() const { return panels_; }
  [[nodiscard]] bool shows_panels() const;
  [[nodiscard]] QComboBox* selector() const { return selector_; }
  [[nodiscard]] bool has_figure() const;

 public Q_SLOTS:
  void set_series_visible(const QString& style_key, bool visible);
  /// Opens the dialog that exports what is shown.
  void export_figure();

 Q_SIGNALS:
  void view_changed();
  /// The person hid or showed a contender here.
  void series_toggled(const QString& style_key, bool visible);
  /// A value was clicked; its cell's number in the run.
  void cell_chosen(qint64 cell);
  void succeeded(const QString& sentence);

 private:
  QComboBox* selector_;
  QStackedWidget* stack_;
  charts::RunChart* chart_;
  charts::FacetsView* panels_;
  QString run_name_;
};

}  // namespace attnscope::gui
