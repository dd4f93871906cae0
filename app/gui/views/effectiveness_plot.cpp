// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/effectiveness_plot.h"

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>
#include <span>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {

using report::Advised;

EffectivenessPlot::EffectivenessPlot(QWidget* parent)
    : QWidget(parent),
      chart_(new charts::RunChart),
      absent_(new ReadingLabel(nullptr, "without_published")) {
  chart_->setObjectName(QStringLiteral("effectiveness"));
  chart_->set_title_shown(false);
  chart_->set_legend_shown(false);  // the list next to it serves as legend
  // Smaller than the chart's own minimum: in a small window the plot shrinks and its labels remain.
  constexpr int least_lines = 6;
  chart_->setMinimumHeight(least_lines * fontMetrics().height());
  absent_->setForegroundRole(QPalette::PlaceholderText);
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(space::hair);
  layout->addWidget(chart_, 1);
  layout->addWidget(absent_);
  connect(chart_, &charts::RunChart::export_wanted, this, [this] {
    export_chart(*chart_, QStringLiteral("effectiveness"),
                 [this](const QString& text) { Q_EMIT succeeded(text); });
  });
  clear();
}

void EffectivenessPlot::set_contenders(const std::vector<std::string>& ids) {
  chart_->set_contenders(ids);
}

void EffectivenessPlot::show_advice(const report::Advice& advice) {
  const report::Figure figure = report::effectiveness_figure(advice);
  chart_->set_placeholder(
      tr("The paper has published no nDCG@10 of these patterns and windows at this length."));
  chart_->set_figure(figure);
  const auto range = report::readable_range(std::span(&figure, 1));
  chart_->set_y_range(range ? std::optional(charts::AxisRange{range->low, range->high})
                            : std::nullopt);
  QStringList absent;
  for (const Advised& contender : advice.contenders) {
    if (!contender.published && !contender.measured) absent.append(words(contender.name));
  }
  const bool any_measured =
      std::ranges::any_of(advice.contenders, [](const Advised& one) { return !!one.measured; });
  const QString count = counted(absent.size(), tr("contender"), tr("contenders"));
  QStringList text;
  if (any_measured) text.append(words(figure.warning));
  if (!absent.isEmpty()) {
    text.append(any_measured ? tr("Neither measured nor published: %1").arg(count)
                             : tr("Not published: %1").arg(count));
  }
  absent_->setText(text.join(QLatin1Char('\n')));
  absent_->setToolTip(absent.join(QLatin1Char('\n')));
  absent_->setAccessibleDescription(absent.join(QStringLiteral("; ")));
  absent_->setVisible(!text.isEmpty() && !figure.series.empty());
}

void EffectivenessPlot::clear() {
  chart_->set_placeholder(tr("Time against effectiveness stands here with an answer."));
  chart_->set_figure({});
  absent_->hide();
}

}  // namespace attnscope::gui
