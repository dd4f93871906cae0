// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/cell_panel.h"

#include <fmt/format.h>

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
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
#include <set>
#include <tuple>
#include <vector>

#include "app/drawing/chart_style.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/theme.h"
#include "base/sentences.h"
#include "engine/report/model_profile.h"
#include "engine/report/number_text.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/report/run_description.h"

namespace attnscope::gui {
namespace {

using Section = CellFacts::Section;

QString tr(const char* text) {
  return QCoreApplication::translate("CellFacts", text);
}

QString time(double ns) {
  return qstring(report::format_time(ns));
}

QString bytes(double count) {
  return qstring(report::format_bytes(count));
}

QString three(double value) {
  return qstring(report::three_digits(value));
}

QString joined(const std::vector<std::string>& notes) {
  return qstring(fmt::format("{}", fmt::join(notes, "; ")));
}

/// The number of samples used for the time, out of all samples.
QString samples_text(const report::Row& row) {
  const auto all = static_cast<qint64>(row.cell.cell.samples.size());
  const QString used = QString::number(row.cell.summary.samples);
  return all == row.cell.summary.samples ? used : tr("%1 of %2 used").arg(used).arg(all);
}

QString time_tip(const report::Row& row) {
  const std::vector<std::string> notes = report::notes_on_time(row);
  QString tip = tr("95 % interval: %1; %2 samples in %3 placements")
                    .arg(qstring(report::time_interval_in_words(row.cell.summary)))
                    .arg(row.cell.summary.samples)
                    .arg(row.cell.summary.placements);
  if (!row.cell.cell.settled) tip += tr("; stopped by its time limit");
  if (!notes.empty()) tip += QStringLiteral("; ") + joined(notes);
  return tip;
}

QString memory_tip(const report::Row& row) {
  const CellMemory& memory = row.cell.cell.memory;
  if (has_unseen_memory(memory)) return joined(report::notes_on_memory(row));
  return tr("Peak above the memory in use before the call; %1 reserved, %2 workspace")
      .arg(bytes(static_cast<double>(memory.reserved_bytes)),
           bytes(static_cast<double>(memory.workspace_bytes)));
}

QString ratio_tip(const report::Row& row) {
  if (!row.ratio || report::against_baseline(row) == "baseline") return {};
  return tr("Per document, 95 % interval: %1; %2")
      .arg(qstring(report::interval_in_words(*row.ratio)),
           row.ratio->paired ? tr("paired") : tr("unpaired"));
}

QString executed_tip(const report::Row& row) {
  if (!report::executed_ratio(row)) return {};
  const CellWork& work = row.cell.cell.work;
  return tr("%1: %2 GFLOP for %3 useful GFLOP; traffic %4, at least %5")
      .arg(qstring(report::executed_in_words(row)), three(work.executed_flop / 1e9),
           three(work.useful_flop / 1e9), bytes(work.executed_bytes), bytes(work.least_bytes));
}

QString error_tip(const report::Row& row) {
  if (!row.cell.cell.error_bound) return {};
  return tr("Largest deviation from the float64 reference over max|V|; allowed %1")
      .arg(QString::number(*row.cell.cell.error_bound, 'e', 1));
}

Section time_section(const report::Row& row) {
  const statistics::Summary& summary = row.cell.summary;
  const double documents = report::documents_of(row);
  std::set<int> processes;
  for (const Sample& sample : row.cell.cell.samples) processes.insert(sample.process);
  const bool settled = row.cell.cell.settled;
  return {
      tr("Time"),
      {{tr("Median per call"), time(summary.median_ns)},
       {tr("95 % interval"), qstring(report::time_interval_in_words(summary))},
       {tr("Per document"), tr("%1, of %2")
                                .arg(time(summary.median_ns / documents))
                                .arg(counted(static_cast<qint64>(documents),
                                             tr("document per call"), tr("documents per call")))},
       {tr("Samples"),
        tr("%1 in %2 of %3")
            .arg(samples_text(row))
            .arg(counted(summary.placements, tr("placement"), tr("placements")),
                 counted(static_cast<qint64>(processes.size()), tr("process"), tr("processes")))},
       {tr("Stopped"), settled ? tr("when its interval was reached") : tr("by its time limit"),
        !settled}}};
}

Section ratio_section(const report::Table& table, const report::Row& row) {
  Section section{tr("Against the baseline"), {}};
  if (!table.baseline || !row.ratio) return section;
  if (row.cell.cell.contender.id() == *table.baseline) {
    section.facts = {{tr("Baseline"), tr("this contender")}};
    return section;
  }
  section.facts = {{qstring(*table.baseline), qstring(report::difference_in_words(*row.ratio))},
                   {tr("95 % interval"), qstring(report::interval_in_words(*row.ratio))},
                   {tr("Compared"),
                    row.ratio->paired ? tr("round by round, in the same heat")
                                      : tr("unpaired: with another batch"),
                    !row.ratio->paired}};
  return section;
}

Section conditions_section(const report::Row& row) {
  Section section{tr("Measurement conditions"), {}};
  const auto add = [&section](const QString& name, const QString& value, bool warns = false) {
    section.facts.push_back({name, value, warns});
  };
  for (const std::string& note : report::notes_on_time(row)) add(tr("Note"), qstring(note), true);
  if (section.facts.empty()) add(tr("Note"), tr("no drift and no disturbance found"));
  add(tr("Outliers"),
      tr("%1 of %2").arg(report::outlier_samples(row)).arg(row.cell.summary.samples));
  if (const auto clock = report::median_clock_mhz(row))
    add(tr("Clock"), tr("%1 MHz").arg(*clock, 0, 'f', 0));
  if (const auto warmth = report::median_temperature_c(row))
    add(tr("Temperature"), tr("%1 °C").arg(*warmth, 0, 'f', 0));
  if (const auto power = report::median_power_w(row))
    add(tr("Power"), tr("%1 W").arg(*power, 0, 'f', 0));
  if (const auto enqueue = report::median_enqueue_ns(row)) {
    add(tr("Time measured"), tr("on the device, between two events"));
    add(tr("Host time to enqueue a call"), tr("%1 us").arg(three(*enqueue / 1e3)));
  }
  add(tr("Load of other programs"),
      tr("%1 of a core").arg(three(report::median_foreign_load(row))));
  add(tr("Involuntary switches"),
      counted(report::involuntary_switches(row), tr("time"), tr("times")));
  return section;
}

Section error_section(const report::Row& row) {
  Section section{tr("Error against the float64 reference"), {}};
  const Cell& cell = row.cell.cell;
  if (!cell.relative_error) return section;
  const bool wrong = cell.error_bound && *cell.relative_error > *cell.error_bound;
  section.facts = {
      {tr("Largest, over max|V|"), QString::number(*cell.relative_error, 'e', 1), wrong}};
  if (cell.error_bound)
    section.facts.push_back({tr("Allowed"), QString::number(*cell.error_bound, 'e', 1)});
  return section;
}

Section memory_section(const report::Row& row) {
  const CellMemory& memory = row.cell.cell.memory;
  const auto peak = static_cast<double>(peak_bytes(memory));
  const auto of = [](std::int64_t count) { return bytes(static_cast<double>(count)); };
  Section section{tr("Memory of a call"),
                  {{tr("Peak"), bytes(peak), has_unseen_memory(memory)},
                   {tr("Per document"), bytes(peak / report::documents_of(row))},
                   {tr("Requested"), of(memory.requested_bytes)},
                   {tr("Reserved"), of(memory.reserved_bytes)},
                   {tr("Workspace in reserved"), of(memory.workspace_bytes)}}};
  if (memory.process_peak_bytes)
    section.facts.push_back({tr("Growth of the process"), of(*memory.process_peak_bytes)});
  for (const std::string& note : report::notes_on_memory(row))
    section.facts.push_back({tr("Note"), qstring(note), true});
  return section;
}

Section work_section(const report::Row& row) {
  const CellWork& work = row.cell.cell.work;
  Section section{tr("Work of a call"), {}};
  const auto add = [&section](const QString& name, const QString& value, bool warns = false) {
    section.facts.push_back({name, value, warns});
  };
  if (!(work.useful_flop > 0)) return section;
  add(tr("Useful"), tr("%1 GFLOP").arg(three(work.useful_flop / 1e9)));
  if (const auto executed = report::executed_ratio(row)) {
    add(tr("Executed"),
        tr("%1 GFLOP, %2")
            .arg(three(work.executed_flop / 1e9), qstring(report::format_times(*executed))));
  }
  add(tr("Least traffic"), bytes(work.least_bytes));
  if (work.executed_bytes > 0) add(tr("Executed traffic"), bytes(work.executed_bytes));
  add(tr("Exponentials"), tr("%1 million").arg(three(work.exponentials / 1e6)));
  if (row.limit_ms) add(tr("Machine limit"), time(*row.limit_ms * 1e6));
  if (row.share_of_limit) {
    add(tr("Share of the limit"), tr("%1 %").arg(three(100 * *row.share_of_limit)),
        report::is_beyond_limit(row));
  }
  if (report::is_measured(row) && row.cell.summary.median_ns > 0) {
    add(tr("Rate"),
        tr("%1 useful GFLOP/s").arg(three(work.useful_flop / row.cell.summary.median_ns)));
  }
  return section;
}

Section parts_section(const report::Table& table, const report::Row& row) {
  Section section{tr("Where the time goes"), {}};
  for (const report::ProfiledPart& part : report::parts_of(table, row)) {
    section.facts.push_back(
        {qstring(part.name),
         tr("%1, %2").arg(time(1e9 * part.seconds), qstring(report::share_in_words(part)))});
  }
  return section;
}

}  // namespace

CellFacts cell_facts(const report::Table& table, const report::Row& row) {
  const report::Outcome outcome = report::outcome_of(row);
  const std::vector<bool> none(report::axes_of({}).size(), false);
  std::vector<bool> varying = report::varying_axes(table.rows);
  varying[report::length_axis] = true;
  CellFacts facts{.title = qstring(row.cell.cell.contender.name),
                  .brief = qstring(report::words_of(row.cell.point, varying, true)),
                  .setting = qstring(report::words_of(row.cell.point, none, false)),
                  .status = qstring(outcome.status),
                  .failed = !report::is_measured(row),
                  .sections = {}};
  if (!outcome.reason.empty() && facts.failed)
    facts.status += QStringLiteral(": ") + qstring(outcome.reason);
  // Values of a damaged cell are not reliable.
  if (row.cell.damaged) return facts;
  std::vector<Section> all;
  if (!facts.failed) all = {time_section(row), ratio_section(table, row), conditions_section(row)};
  all.push_back(error_section(row));
  if (!facts.failed) all.push_back(memory_section(row));
  all.push_back(work_section(row));
  all.push_back(parts_section(table, row));
  for (Section& section : all) {
    for (CellFact& fact : section.facts) fact.value = charts::with_minus(std::move(fact.value));
    if (!section.facts.empty()) facts.sections.push_back(std::move(section));
  }
  return facts;
}

QString cell_tip(const report::Row& row, report::Quantity quantity) {
  if (row.cell.damaged) {
    return tr("Not shown: %1; to keep the other cells, use attnscope export RUN -o FILE.attn, or "
              "Export run in the list.")
        .arg(qstring(damage_in_words(row.cell)));
  }
  // A planned cell has its work, and a wrong one its error.
  if (quantity == report::Quantity::executed) return executed_tip(row);
  if (quantity == report::Quantity::error && row.cell.cell.relative_error) return error_tip(row);
  if (!report::is_measured(row)) return qstring(report::outcome_of(row).reason);
  if (quantity == report::Quantity::memory) return memory_tip(row);
  if (quantity == report::Quantity::ratio) return ratio_tip(row);
  if (quantity == report::Quantity::limit && row.limit_ms)
    return tr("The machine's ceilings allow %1 per call").arg(time(*row.limit_ms * 1e6));
  if (quantity != report::Quantity::time) return {};
  const QString ratio = ratio_tip(row);
  return ratio.isEmpty() ? time_tip(row) : time_tip(row) + QLatin1Char('\n') + ratio;
}

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
  if (sample.power_w) text += fmt::format(", {:.0f} W", *sample.power_w);
  if (sample.involuntary_switches > 0) {
    text += fmt::format(
        ", preempted {}",
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
  scroll_->setAccessibleName(tr("Facts about the cell"));
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
                 [this](const QString& sentence) { Q_EMIT succeeded(sentence); });
  });
  setMinimumWidth(16 * fontMetrics().averageCharWidth());
  show_cell(nullptr, std::nullopt);
}

QLayout* CellPanel::build_head() {
  auto* copy = new QToolButton;
  copy->setText(tr("Copy"));
  copy->setObjectName(QStringLiteral("copy_cell"));
  copy->setToolTip(tr("Copy all facts about the cell as text"));
  copy->setAutoRaise(true);
  connect(copy, &QToolButton::clicked, this, [this] {
    QApplication::clipboard()->setText(text());
    Q_EMIT succeeded(tr("Copied the facts about the cell."));
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
  command_->setAccessibleName(tr("Command that measures this cell again"));
  beyond_ = wrapping();
  auto* copy = new QPushButton(tr("Copy command"));
  copy->setObjectName(QStringLiteral("copy_command"));
  copy->setToolTip(tr("Copy the command line that measures this cell again"));
  connect(copy, &QPushButton::clicked, this, [this] {
    QApplication::clipboard()->setText(command());
    Q_EMIT succeeded(tr("Copied the command that measures this cell again."));
  });
  auto* group = new QWidget;
  auto* layout = new QVBoxLayout(group);
  layout->setContentsMargins(0, space::gap, 0, 0);
  layout->addWidget(heading(tr("To measure it again")));
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
        tr("Choose a cell in the table or a value in a chart to see its samples, conditions, "
           "memory and work.");
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
  command_->setPlainText(qstring(command.text));
  QString beyond = qstring(command.beyond);
  if (run_->table.baseline &&
      *run_->table.baseline != run_->table.rows[*row_].cell.cell.contender.id())
    beyond = tr("Measures the baseline as well, so that their ratio is paired. %1").arg(beyond);
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
    lines.append(qstring(report::provenance_line(run_->table.run)));
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
