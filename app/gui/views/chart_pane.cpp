// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/chart_pane.h"

#include <QComboBox>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "app/gui/charts/facets_export.h"
#include "app/gui/charts/facets_view.h"
#include "app/gui/charts/figure_export.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/run_export.h"

namespace attnscope::gui {

ChartPane::ChartPane(const QString& name, const QString& side, report::YAxis view, QWidget* parent)
    : QWidget(parent),
      selector_(new QComboBox),
      stack_(new QStackedWidget),
      chart_(new charts::RunChart),
      panels_(new charts::FacetsView) {
  for (const report::View& each : report::views()) {
    selector_->addItem(words(each.title), static_cast<int>(each.y));
  }
  selector_->setObjectName(name + QStringLiteral("_view"));
  selector_->setAccessibleName(tr("What the %1 chart shows").arg(side));
  selector_->setToolTip(tr("What this chart shows"));
  selector_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  selector_->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
  chart_->setObjectName(name + QStringLiteral("_chart"));
  chart_->set_title_shown(false);  // it stands above both charts
  panels_->setObjectName(name + QStringLiteral("_panels"));
  stack_->addWidget(chart_);
  stack_->addWidget(panels_);
  set_view(view);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(selector_);
  layout->addWidget(stack_, 1);
  connect(selector_, &QComboBox::currentIndexChanged, this, &ChartPane::view_changed);
  connect(chart_, &charts::RunChart::series_toggled, this, &ChartPane::series_toggled);
  connect(chart_, &charts::RunChart::series_toggled, panels_,
          &charts::FacetsView::set_series_visible);
  connect(panels_, &charts::FacetsView::series_toggled, this, &ChartPane::series_toggled);
  connect(panels_, &charts::FacetsView::series_toggled, chart_,
          &charts::RunChart::set_series_visible);
  connect(chart_, &charts::RunChart::cell_chosen, this, &ChartPane::cell_chosen);
  connect(panels_, &charts::FacetsView::cell_chosen, this, &ChartPane::cell_chosen);
  connect(chart_, &charts::RunChart::export_wanted, this, &ChartPane::export_figure);
  connect(panels_, &charts::FacetsView::export_wanted, this, &ChartPane::export_figure);
}

report::YAxis ChartPane::view() const {
  return static_cast<report::YAxis>(selector_->currentData().toInt());
}

void ChartPane::set_view(report::YAxis view) {
  const int index = selector_->findData(static_cast<int>(view));
  if (index >= 0) selector_->setCurrentIndex(index);
}

void ChartPane::set_contenders(const std::vector<std::string>& ids) {
  chart_->set_contenders(ids);
  panels_->set_contenders(ids);
}

void ChartPane::set_legend_shown(bool shown) {
  chart_->set_legend_shown(shown);
}

void ChartPane::set_series_visible(const QString& style_key, bool visible) {
  chart_->set_series_visible(style_key, visible);
  panels_->set_series_visible(style_key, visible);
}

bool ChartPane::shows_panels() const {
  return stack_->currentWidget() == panels_;
}

bool ChartPane::has_figure() const {
  return shows_panels() ? !panels_->facets().panels.empty() : !chart_->figure().series.empty();
}

void ChartPane::show_run(const RunSnapshot& run, const QString& waiting) {
  const FigureSnapshot& snapshot = figure_of(run, view());
  const QString placeholder = snapshot.problem.isEmpty() ? waiting : snapshot.problem;
  run_name_ = file_stem(run, words(report::view_of(view()).key));
  chart_->set_placeholder(placeholder);
  panels_->set_placeholder(placeholder);
  chart_->set_figure(snapshot.figure.value_or(report::Figure{}));
  panels_->set_facets(snapshot.facets.value_or(report::Facets{}));
  stack_->setCurrentWidget(snapshot.facets ? static_cast<QWidget*>(panels_) : chart_);
}

void ChartPane::export_figure() {
  if (!has_figure()) return;
  auto* dialog = shows_panels() ? new FigureDialog(charts::printable(panels_->shown_facets()),
                                                   panels_->shown_options(), run_name_, this)
                                : new FigureDialog(charts::printable(chart_->shown_figure()),
                                                   chart_->shown_options(), run_name_, this);
  connect(dialog, &FigureDialog::written, this, &ChartPane::succeeded);
  dialog->open();
}

}  // namespace attnscope::gui
