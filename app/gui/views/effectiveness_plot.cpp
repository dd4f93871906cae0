// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/effectiveness_plot.h"

#include <QLabel>
#include <QVBoxLayout>

#include "app/gui/charts/printable.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/models/effectiveness_figure.h"
#include "app/gui/session/text.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {

EffectivenessPlot::EffectivenessPlot(QWidget* parent)
    : QWidget(parent), chart_(new charts::RunChart), absent_(new QLabel) {
  chart_->setObjectName(QStringLiteral("effectiveness"));
  chart_->set_title_shown(false);
  chart_->set_legend_shown(false);  // the list beside it is one
  // Lower than the chart asks for: in a small window its plot gives way, its labels stay.
  constexpr int least_lines = 6;
  chart_->setMinimumHeight(least_lines * fontMetrics().height());
  absent_->setObjectName(QStringLiteral("without_published"));
  absent_->setTextFormat(Qt::PlainText);
  absent_->setForegroundRole(QPalette::PlaceholderText);
  absent_->setWordWrap(true);
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(space::hair);
  layout->addWidget(chart_, 1);
  layout->addWidget(absent_);
  connect(chart_, &charts::RunChart::export_wanted, this, &EffectivenessPlot::export_figure);
  clear();
}

void EffectivenessPlot::set_contenders(const std::vector<std::string>& ids) {
  chart_->set_contenders(ids);
}

void EffectivenessPlot::show_advice(const report::Answer& advice) {
  const report::Figure figure = effectiveness_figure(advice);
  const QStringList absent = without_published(advice);
  chart_->set_placeholder(
      tr("The paper has published no nDCG@10 of these patterns and windows at this length."));
  chart_->set_figure(figure);
  chart_->set_y_range(effectiveness_range(figure));
  const auto count = static_cast<qint64>(absent.size());
  absent_->setText(tr("Not published: %1").arg(counted(count, tr("contender"), tr("contenders"))));
  absent_->setToolTip(absent.join(QLatin1Char('\n')));
  absent_->setAccessibleDescription(absent.join(QStringLiteral("; ")));
  absent_->setVisible(count > 0 && !figure.series.empty());
}

void EffectivenessPlot::clear() {
  chart_->set_placeholder(tr("Time against published nDCG@10 stands here with an answer."));
  chart_->set_figure({});
  absent_->hide();
}

void EffectivenessPlot::export_figure() {
  if (chart_->figure().series.empty()) return;
  auto* dialog = new FigureDialog(charts::printable(chart_->shown_facets()),
                                  chart_->shown_options(), QStringLiteral("effectiveness"), this);
  connect(dialog, &FigureDialog::written, this, &EffectivenessPlot::succeeded);
  dialog->open();
}

}  // namespace attnscope::gui
