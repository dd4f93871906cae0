// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/effectiveness_plot.h"

#include <fmt/format.h>

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

using report::Advised;

constexpr double seconds_from_ms = 1e4;

bool is_plotted(const Advised& one) {
  return one.published && one.time_ns;
}

std::string remark_on(const Advised& one) {
  if (one.is_interpolated) return "≈ interpolated";
  return one.counted_as ? "≈ shorter than measured" : "";
}

report::Figure effectiveness_figure(const report::Answer& advice) {
  report::Figure figure;
  double longest_ms = 0;
  for (const Advised& one : advice.contenders) {
    if (is_plotted(one)) longest_ms = std::max(longest_ms, one.time_ns->value / 1e6);
  }
  const bool in_seconds = longest_ms >= seconds_from_ms;
  for (const Advised& one : advice.contenders) {
    if (!is_plotted(one)) continue;
    const double ndcg = one.published->ndcg10;
    if (figure.series.empty()) {
      figure.y_label =
          fmt::format("nDCG@10 over {} ({})", one.published->task, report::published_label);
    }
    figure.series.push_back({.name = one.name,
                             .style_key = one.contender,
                             .points = {{.x = one.time_ns->value / (in_seconds ? 1e9 : 1e6),
                                         .y = ndcg,
                                         .low = ndcg,
                                         .high = ndcg,
                                         .label = remark_on(one)}},
                             .rail = {}});
  }
  if (figure.series.empty()) return figure;
  const std::int64_t count = advice.question->candidates;
  figure.x_label =
      fmt::format("{} for {} document{}", in_seconds ? "s" : "ms", count, count == 1 ? "" : "s");
  figure.x_scale = report::Scale::log10;
  figure.y_scale = report::Scale::linear;
  figure.along_x = false;
  figure.provenance = report::provenance_line(advice.run);
  return figure;
}

/// Of nDCG@10, in which a difference of 0.01 is seen, and seen as small; nothing without a point.
std::optional<charts::AxisRange> readable_range(const report::Figure& figure) {
  constexpr double least_span = 0.04;
  std::vector<double> values;
  for (const report::Series& series : figure.series) values.push_back(series.points.front().y);
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(values);
  const double middle = (low + high) / 2;
  const double span = std::max(least_span, 1.4 * (high - low));
  return charts::AxisRange{std::max(0.0, middle - span / 2), middle + span / 2};
}

}  // namespace

EffectivenessPlot::EffectivenessPlot(QWidget* parent)
    : QWidget(parent),
      chart_(new charts::RunChart),
      absent_(new ReadingLabel(nullptr, "without_published")) {
  chart_->setObjectName(QStringLiteral("effectiveness"));
  chart_->set_title_shown(false);
  chart_->set_legend_shown(false);  // the list beside it is one
  // Lower than the chart asks for: in a small window its plot gives way, its labels stay.
  constexpr int least_lines = 6;
  chart_->setMinimumHeight(least_lines * fontMetrics().height());
  absent_->setForegroundRole(QPalette::PlaceholderText);
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(space::hair);
  layout->addWidget(chart_, 1);
  layout->addWidget(absent_);
  connect(chart_, &charts::RunChart::export_wanted, this, [this] {
    export_chart(*chart_, QStringLiteral("effectiveness"),
                 [this](const QString& said) { Q_EMIT succeeded(said); });
  });
  clear();
}

void EffectivenessPlot::set_contenders(const std::vector<std::string>& ids) {
  chart_->set_contenders(ids);
}

void EffectivenessPlot::show_advice(const report::Answer& advice) {
  const report::Figure figure = effectiveness_figure(advice);
  chart_->set_placeholder(
      tr("The paper has published no nDCG@10 of these patterns and windows at this length."));
  chart_->set_figure(figure);
  chart_->set_y_range(readable_range(figure));
  QStringList absent;
  for (const Advised& one : advice.contenders) {
    if (!one.published) absent.append(words(one.name));
  }
  absent_->setText(
      tr("Not published: %1").arg(counted(absent.size(), tr("contender"), tr("contenders"))));
  absent_->setToolTip(absent.join(QLatin1Char('\n')));
  absent_->setAccessibleDescription(absent.join(QStringLiteral("; ")));
  absent_->setVisible(!absent.isEmpty() && !figure.series.empty());
}

void EffectivenessPlot::clear() {
  chart_->set_placeholder(tr("Time against published nDCG@10 stands here with an answer."));
  chart_->set_figure({});
  absent_->hide();
}

}  // namespace attnscope::gui
