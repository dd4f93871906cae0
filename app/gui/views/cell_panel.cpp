// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/cell_panel.h"

#include <fmt/format.h>

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QFontDatabase>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/theme.h"
#include "base/sentences.h"
#include "engine/report/number_text.h"
#include "engine/report/row.h"
#include "engine/report/run_description.h"

namespace attnscope::gui {
namespace {

// More dots add nothing visible, and painting them would take noticeable time.
constexpr std::size_t most_dots = 3000;
constexpr double ms_per_ns = 1e-6;

/// "placement 2, round 5, outlier, 2400 MHz".
std::string label_of(const Sample& sample, bool is_outlier) {
  std::string text = fmt::format("placement {}, round {}", sample.placement + 1, sample.round + 1);
  if (is_outlier) text += ", outlier";
  if (sample.throttled) text += ", throttled";
  if (sample.clock_mhz) text += fmt::format(", {:.0f} MHz", *sample.clock_mhz);
  if (sample.temperature_c) text += fmt::format(", {:.0f} °C", *sample.temperature_c);
  if (sample.involuntary_switches > 0) {
    text += fmt::format(
        ", taken off a core {}",
        attnscope::counted(static_cast<std::size_t>(sample.involuntary_switches), "time"));
  }
  return text;
}

report::Ceiling line_of(const char* what, double ns) {
  return {.text = fmt::format("{} {}", what, report::format_time(ns)), .rate = ns * ms_per_ns};
}

/// All samples, in the order of placements and rounds, with the median and its interval as
/// horizontal lines; for very many samples, an evenly spaced subset with every outlier. Without
/// series: no row, or no samples.
report::Figure samples_figure(const report::Row* row) {
  report::Figure figure{.title = {},
                        .x_label = "Samples, in the order of placements and rounds",
                        .y_label = "Time of a call (ms)",
                        .x_scale = report::Scale::linear,
                        .y_scale = report::Scale::linear,
                        .series = {},
                        .provenance = {}};
  figure.is_joined = false;
  if (row == nullptr || !report::is_measured(*row)) return figure;
  const std::vector<Sample>& samples = row->cell.cell.samples;
  std::vector<bool> outliers = row->cell.outliers;
  outliers.resize(samples.size());
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) { return std::tuple(samples[i].placement, samples[i].round); });
  // No title: in a low panel it would take the height of the plot.
  figure.y_label = row->cell.cell.contender.name + ": time of a call (ms)";
  report::Series usual{.name = "samples", .style_key = "samples", .points = {}, .rail = {}};
  report::Series odd{.name = "outliers", .style_key = "outliers", .points = {}, .rail = {}};
  const std::size_t step = (samples.size() + most_dots - 1) / most_dots;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const Sample& sample = samples[order[place]];
    const bool is_outlier = outliers[order[place]];
    const double x = static_cast<double>(place) + 1, y = sample.time_ns * ms_per_ns;
    if (place == 0 || sample.placement != samples[order[place - 1]].placement) {
      figure.marks.push_back({.x = x,
                              .text = fmt::format("placement {}", sample.placement + 1),
                              .style_key = "samples"});
    }
    if ((place % step != 0 && !is_outlier) || !std::isfinite(y)) continue;
    (is_outlier ? odd : usual)
        .points.push_back(
            {.x = x, .y = y, .low = y, .high = y, .label = label_of(sample, is_outlier)});
  }
  figure.series.push_back(std::move(usual));
  if (!odd.points.empty()) figure.series.push_back(std::move(odd));
  const statistics::Summary& summary = row->cell.summary;
  figure.ceilings = {line_of("median", summary.median_ns), line_of("95% from", summary.low_ns),
                     line_of("to", summary.high_ns)};
  return figure;
}

/// The range of the times that contains the samples: they differ by a few percent.
std::optional<charts::AxisRange> samples_range(const report::Figure& figure) {
  std::vector<double> values;
  for (const report::Series& series : figure.series) {
    for (const report::Point& point : series.points) values.push_back(point.y);
  }
  if (values.empty()) return std::nullopt;
  for (const report::Ceiling& line : figure.ceilings) {
    if (std::isfinite(line.rate)) values.push_back(line.rate);
  }
  const auto [low, high] = std::ranges::minmax(values);
  const double margin = std::max(0.05 * (high - low), 1e-3 * high);
  return charts::AxisRange{std::max(0.0, low - margin), high + margin};
}

QLabel* wrapping(const QString& text = {}) {
  auto* label = new QLabel(text);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  // Long words, such as a contender's id, must not widen the panel.
  label->setMinimumWidth(1);
  return label;
}

void color(QLabel* label, const QColor& text) {
  QPalette colored = label->palette();
  colored.setColor(QPalette::WindowText, text);
  label->setPalette(colored);
}

}  // namespace

CellPanel::CellPanel(QWidget* parent)
    : QWidget(parent),
      title_(heading({})),
      setting_(wrapping()),
      status_(wrapping()),
      samples_(new charts::RunChart),
      body_(nullptr),
      scroll_(new QScrollArea) {
  setObjectName(QStringLiteral("cell_panel"));
  setAccessibleName(tr("The chosen cell"));
  status_->setObjectName(QStringLiteral("cell_status"));
  auto* body = new QWidget;
  body_ = new QVBoxLayout(body);
  body_->setContentsMargins(0, 0, space::gap, 0);
  body_->addWidget(setting_);
  body_->addWidget(status_);
  repeat_ = build_command();
  body_->addWidget(repeat_);
  body_->addStretch(1);
  scroll_->setWidget(body);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setFocusPolicy(Qt::StrongFocus);  // for scrolling by keyboard
  scroll_->setAccessibleName(tr("What is known of the cell"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(space::gap, 0, 0, 0);
  layout->addLayout(build_head());
  layout->addWidget(scroll_, 1);
  samples_->setObjectName(QStringLiteral("samples"));
  samples_->set_legend_shown(false);  // the value text marks outliers
  // Smaller than the chart's own minimum: the run's charts should get the height.
  constexpr int least_lines = 7;
  samples_->setMinimumHeight(least_lines * fontMetrics().height());
  samples_->set_placeholder(tr("No samples: choose a cell in the table, or a value in a chart"));
  connect(samples_, &charts::RunChart::export_wanted, this, [this] {
    export_chart(*samples_, QStringLiteral("samples"),
                 [this](const QString& stated) { Q_EMIT succeeded(stated); });
  });
  setMinimumWidth(16 * fontMetrics().averageCharWidth());
  show_cell(nullptr, std::nullopt);
}

QLayout* CellPanel::build_head() {
  auto* copy = new QToolButton;
  copy->setText(tr("Copy"));
  copy->setObjectName(QStringLiteral("copy_cell"));
  copy->setToolTip(tr("Copy everything that is known of the cell as text"));
  copy->setAutoRaise(true);
  connect(copy, &QToolButton::clicked, this, [this] {
    QApplication::clipboard()->setText(text());
    Q_EMIT succeeded(tr("Copied what is known of the cell."));
  });
  auto* line = new QHBoxLayout;
  line->addWidget(title_, 1);
  line->addWidget(copy);
  return line;
}

QWidget* CellPanel::build_command() {
  command_ = new QPlainTextEdit;
  command_->setObjectName(QStringLiteral("repeat_command"));
  command_->setReadOnly(true);
  command_->setTabChangesFocus(true);
  command_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  command_->setWordWrapMode(QTextOption::WrapAnywhere);
  command_->setFixedHeight(6 * command_->fontMetrics().height());
  command_->setAccessibleName(tr("Command that measures this cell once more"));
  beyond_ = wrapping();
  auto* copy = new QPushButton(tr("Copy command"));
  copy->setObjectName(QStringLiteral("copy_command"));
  copy->setToolTip(tr("Copy the command line that measures this cell once more"));
  connect(copy, &QPushButton::clicked, this, [this] {
    QApplication::clipboard()->setText(command());
    Q_EMIT succeeded(tr("Copied the command that measures this cell once more."));
  });
  auto* group = new QWidget;
  auto* layout = new QVBoxLayout(group);
  layout->setContentsMargins(0, space::gap, 0, 0);
  layout->addWidget(heading(tr("To measure it once more")));
  layout->addWidget(command_);
  layout->addWidget(beyond_);
  layout->addWidget(copy, 0, Qt::AlignLeft);
  return group;
}

void CellPanel::show_cell(const RunPointer& run, std::optional<std::size_t> table_row) {
  const bool same_cell =
      run_ && run && row_ == table_row && run_->request.uuid == run->request.uuid;
  run_ = run;
  row_ = run && table_row && *table_row < run->table.rows.size() ? table_row : std::nullopt;
  const report::Row* row = row_ ? &run_->table.rows[*row_] : nullptr;
  facts_ = row == nullptr ? CellFacts{} : cell_facts(run_->table, *row);
  if (row == nullptr) {
    facts_.title = tr("No cell chosen");
    facts_.setting =
        tr("Choose one in the table or a value in a chart: its samples, conditions, "
           "memory and work stand here.");
  }
  const report::Figure samples = samples_figure(row);
  samples_->set_figure(samples);
  if (!same_cell) samples_->set_y_range(samples_range(samples));
  show_facts();
  show_command();
  if (!same_cell) scroll_->verticalScrollBar()->setValue(0);
}

void CellPanel::show_facts() {
  title_->setText(facts_.title);
  setting_->setText(facts_.brief.isEmpty() ? facts_.setting : facts_.brief);
  setting_->setToolTip(facts_.setting);
  status_->setText(facts_.status);
  status_->setVisible(facts_.failed);
  color(status_, error_text(palette()));
  delete sections_;
  sections_ = new QWidget;
  auto* grid = new QGridLayout(sections_);
  grid->setVerticalSpacing(space::hair);
  grid->setColumnStretch(0, 2);
  grid->setColumnStretch(1, 3);
  int line = 0;
  for (const CellFacts::Section& section : facts_.sections) {
    if (line > 0) grid->setRowMinimumHeight(line++, 4);
    grid->addWidget(heading(section.name), line++, 0, 1, 2);
    for (const CellFact& fact : section.facts) {
      auto* name = wrapping(fact.name);
      auto* value = wrapping(fact.value);
      color(name, faint_text(palette()));
      // Bold, not red: most such numbers are usable, and the text states the reservation.
      if (fact.warns) set_text(value, TextSize::heading);
      grid->addWidget(name, line, 0, Qt::AlignTop);
      grid->addWidget(value, line++, 1, Qt::AlignTop);
    }
  }
  body_->insertWidget(body_->indexOf(repeat_), sections_);
}

void CellPanel::show_command() {
  repeat_->setVisible(row_.has_value());
  if (!row_) return;
  const report::RepeatCommand command =
      report::repeat_command(run_->table, run_->table.rows[*row_], run_->table.baseline);
  command_->setPlainText(words(command.text));
  QString beyond = words(command.beyond);
  if (run_->table.baseline &&
      *run_->table.baseline != run_->table.rows[*row_].cell.cell.contender.id())
    beyond = tr("With the baseline beside it, so that their ratio is paired. %1").arg(beyond);
  beyond_->setText(beyond.trimmed());
  beyond_->setVisible(!beyond.isEmpty());
}

QString CellPanel::command() const {
  return row_ ? command_->toPlainText() : QString();
}

QString CellPanel::text() const {
  QStringList lines{facts_.title, facts_.setting};
  if (!facts_.status.isEmpty()) lines.append(facts_.status);
  for (const CellFacts::Section& section : facts_.sections) {
    lines.append(QString());
    lines.append(section.name);
    for (const CellFact& fact : section.facts)
      lines.append(QStringLiteral("  %1: %2").arg(fact.name, fact.value));
  }
  if (row_) {
    lines.append(QString());
    lines.append(words(report::provenance_line(run_->table.run)));
    lines.append(command());
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

void CellPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  // Colours come from the palette.
  if (event->type() == QEvent::PaletteChange && body_) show_facts();
}

}  // namespace attnscope::gui
