// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/chart_pair.h"

#include <QComboBox>
#include <QSplitter>
#include <QVBoxLayout>
#include <utility>

#include "app/gui/charts/facets_layout.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/views/chart_pane.h"
#include "app/gui/views/kept.h"

namespace attnscope::gui {
namespace {

// A chart may be squeezed to this: beside an open panel, and under an open answer. Then the page
// scrolls.
constexpr int least_chart_characters = 18;
constexpr int least_chart_lines = 16;

}  // namespace

ChartPair::ChartPair(QWidget* parent)
    : QWidget(parent),
      left_(new ChartPane(QStringLiteral("time"), tr("left"), report::YAxis::time)),
      right_(new ChartPane(QStringLiteral("second"), tr("right"), report::YAxis::memory)),
      legend_(new charts::RunChart) {
  auto* split = new QSplitter(Qt::Horizontal);
  split->setObjectName(QStringLiteral("charts_split"));
  for (ChartPane* pane : {left_, right_}) {
    split->addWidget(pane);
    pane->chart()->setMinimumWidth(least_chart_characters * fontMetrics().averageCharWidth());
    pane->chart()->setMinimumHeight(least_chart_lines * fontMetrics().height());
    pane->set_legend_shown(false);
    keep_choice(*pane->selector());
    connect(legend_, &charts::RunChart::series_toggled, pane, &ChartPane::set_series_visible);
    connect(pane, &ChartPane::series_toggled, legend_, &charts::RunChart::set_series_visible);
    connect(pane, &ChartPane::succeeded, this, &ChartPair::succeeded);
    connect(pane, &ChartPane::cell_chosen, this, &ChartPair::cell_chosen);
    connect(pane, &ChartPane::view_changed, this, &ChartPair::view_changed);
  }
  split->setChildrenCollapsible(false);
  split->setHandleWidth(8);
  keep_sizes(*split);
  charts::link_charts(*left_->chart(), *right_->chart());
  connect(left_, &ChartPane::series_toggled, right_, &ChartPane::set_series_visible);
  connect(right_, &ChartPane::series_toggled, left_, &ChartPane::set_series_visible);
  legend_->set_plot_shown(false);
  legend_->set_title_shown(false);
  legend_->setMinimumWidth(1);
  legend_->setObjectName(QStringLiteral("charts_legend"));
  legend_->hide();
  connect(legend_, &charts::RunChart::export_wanted, this, &ChartPair::export_figure);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(split, 1);
  layout->addWidget(legend_);
}

void ChartPair::show_run(const RunSnapshot& run, const QString& waiting) {
  for (ChartPane* pane : {left_, right_}) pane->show_run(run, waiting);
  show_legend();
}

void ChartPair::show_legend() {
  std::vector<report::Figure> shown;
  for (const ChartPane* pane : {left_, right_}) {
    if (!pane->shows_panels()) shown.push_back(pane->chart()->figure());
  }
  report::Facets both;
  both.panels = std::move(shown);
  const report::Figure names = charts::frame_of(both);
  legend_->setVisible(!names.series.empty());
  legend_->set_figure(names);
}

void ChartPair::set_contenders(const std::vector<std::string>& ids) {
  for (ChartPane* pane : {left_, right_}) pane->set_contenders(ids);
  legend_->set_contenders(ids);
}

bool ChartPair::has_figure() const {
  return left_->has_figure();
}

void ChartPair::export_figure() {
  const bool right = right_->isAncestorOf(focusWidget());
  (right ? right_ : left_)->export_figure();
}

}  // namespace attnscope::gui
