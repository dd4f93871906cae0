// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_view.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "app/gui/charts/run_chart.h"
#include "app/gui/models/run_list_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/cell_delegate.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/run_export.h"

namespace attnscope::gui {
namespace {

QPushButton* menu_button(const QString& text, const QString& name) {
  auto* button = new QPushButton(text);
  button->setObjectName(name);
  button->setMenu(new QMenu(button));
  return button;
}

QComboBox* picker(const QString& name, const QString& accessible_name) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setAccessibleName(accessible_name);
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  return box;
}

QLabel* caption(const QString& text, QWidget* buddy) {
  auto* label = new QLabel(text);
  label->setBuddy(buddy);
  return label;
}

struct NamedChart {
  report::YAxis y;
  QString name, file_name;
};

/// What stands beside the time, the first unless another is chosen.
std::vector<NamedChart> second_charts() {
  return {{report::YAxis::memory, RunView::tr("Memory"), QStringLiteral("memory")},
          {report::YAxis::executed, RunView::tr("Executed work"), QStringLiteral("executed")}};
}

/// File names without what shells and file systems stumble over.
QString file_stem(const RunSnapshot& run, const QString& suffix) {
  QString stem = QStringLiteral("%1-%2").arg(words(run.table.run.start.sweep_name), suffix);
  for (QChar& letter : stem) {
    if (!letter.isLetterOrNumber() && letter != QLatin1Char('-')) letter = QLatin1Char('-');
  }
  return stem;
}

}  // namespace

RunView::RunView(QWidget* parent)
    : QWidget(parent),
      title_(new QLabel),
      detail_(new QLabel),
      baseline_(picker(QStringLiteral("baseline"), tr("Baseline"))),
      x_axis_(picker(QStringLiteral("x_axis"), tr("Horizontal axis"))),
      second_y_(picker(QStringLiteral("second_y"), tr("What the chart beside the time shows"))),
      slice_(picker(QStringLiteral("slice"), tr("What the charts hold fixed"))),
      copy_(menu_button(tr("Copy table"), QStringLiteral("copy_table"))),
      export_(menu_button(tr("Export"), QStringLiteral("export"))),
      time_(new charts::RunChart),
      second_(new charts::RunChart),
      answers_(new QLabel),
      table_(new QTableView),
      delegate_(new CellDelegate(table_)) {
  x_axis_->addItems({tr("Length"), tr("Window")});
  for (const NamedChart& chart : second_charts()) second_y_->addItem(chart.name);
  fill_menus();

  auto* body = new QSplitter(Qt::Vertical);
  body->addWidget(build_charts());
  body->addWidget(build_lower_half());
  body->setStretchFactor(0, 3);
  body->setStretchFactor(1, 2);
  body->setChildrenCollapsible(false);
  body->setHandleWidth(8);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(build_top_bar());
  layout->addWidget(detail_);
  layout->addWidget(body, 1);

  connect(baseline_, &QComboBox::activated, this, [this](int index) {
    no_baseline_ = index == 0;
    if (!no_baseline_) baseline_preference_ = baseline_->itemText(index);
    ask();
  });
  connect(x_axis_, &QComboBox::activated, this, [this] {
    slice_wanted_ = 0;
    ask();
  });
  connect(second_y_, &QComboBox::currentIndexChanged, this, [this] {
    if (run()) show_figures(*run());
  });
  connect(slice_, &QComboBox::activated, this, [this](int index) {
    slice_wanted_ = index;
    ask();
  });
}

QWidget* RunView::build_top_bar() {
  QFont bold = title_->font();
  bold.setBold(true);
  bold.setPointSizeF(bold.pointSizeF() * 1.2);
  title_->setFont(bold);
  title_->setObjectName(QStringLiteral("run_title"));
  title_->setTextFormat(Qt::PlainText);
  detail_->setTextFormat(Qt::PlainText);
  detail_->setForegroundRole(QPalette::PlaceholderText);
  title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  detail_->setWordWrap(true);

  auto* bar = new QWidget;
  auto* layout = new QHBoxLayout(bar);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  layout->addWidget(title_, 1);
  layout->addSpacing(8);
  layout->addWidget(slice_);
  layout->addWidget(caption(tr("&Along"), x_axis_));
  layout->addWidget(x_axis_);
  layout->addSpacing(4);
  layout->addWidget(caption(tr("Be&side time"), second_y_));
  layout->addWidget(second_y_);
  layout->addSpacing(4);
  layout->addWidget(caption(tr("&Baseline"), baseline_));
  layout->addWidget(baseline_);
  layout->addSpacing(4);
  layout->addWidget(copy_);
  layout->addWidget(export_);
  return bar;
}

QWidget* RunView::build_charts() {
  time_->setObjectName(QStringLiteral("time_chart"));
  second_->setObjectName(QStringLiteral("second_chart"));
  connect(time_, &charts::RunChart::series_toggled, second_, &charts::RunChart::set_series_visible);
  connect(second_, &charts::RunChart::series_toggled, time_, &charts::RunChart::set_series_visible);
  auto* pair = new QSplitter(Qt::Horizontal);
  pair->addWidget(time_);
  pair->addWidget(second_);
  pair->setChildrenCollapsible(false);
  pair->setHandleWidth(8);
  return pair;
}

QWidget* RunView::build_lower_half() {
  answers_->setObjectName(QStringLiteral("answers"));
  answers_->setTextFormat(Qt::PlainText);
  answers_->setWordWrap(true);
  answers_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  answers_->setAccessibleName(tr("What the charts answer"));
  answers_->hide();
  auto* half = new QWidget;
  auto* layout = new QVBoxLayout(half);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(answers_);
  layout->addWidget(build_table(), 1);
  return half;
}

QWidget* RunView::build_table() {
  proxy_.setSourceModel(&table_model_);
  proxy_.setSortRole(CellTableModel::sort_role);
  table_->setModel(&proxy_);
  table_->setItemDelegate(delegate_);
  table_->setObjectName(QStringLiteral("cells"));
  table_->setAccessibleName(tr("Cells of the run"));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setSortingEnabled(true);
  table_->sortByColumn(-1, Qt::AscendingOrder);  // the run's own order until a header is clicked
  table_->setShowGrid(false);
  table_->setAlternatingRowColors(true);
  table_->setWordWrap(false);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 8);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->horizontalHeader()->setSectionsMovable(true);
  table_->setMinimumHeight(120);
  return table_;
}

void RunView::fill_menus() {
  for (const TableFormatEntry& entry : table_formats()) {
    QAction* copy = copy_->menu()->addAction(tr("As %1").arg(QLatin1String(entry.name)), this,
                                             [this, format = entry.format] { copy_table(format); });
    if (entry.format == report::TableFormat::text)
      copy->setShortcut(QKeySequence(tr("Ctrl+Shift+C")));
    export_->menu()->addAction(tr("Table as %1…").arg(QLatin1String(entry.name)), this,
                               [this, format = entry.format] { export_table(format); });
  }
  std::vector<NamedChart> figures = second_charts();
  figures.insert(figures.begin(), {report::YAxis::time, tr("Time"), QStringLiteral("time")});
  for (const NamedChart& figure : figures) {
    export_->menu()->addSeparator();
    for (const char* extension : {"pdf", "svg", "png"}) {
      export_->menu()->addAction(
          tr("%1 chart as %2…").arg(figure.name, QString::fromLatin1(extension).toUpper()), this,
          [this, figure, extension] {
            export_figure(figure.y, figure.file_name, QLatin1String(extension));
          });
    }
  }
  // Shortcuts work without opening the menus first.
  addActions(copy_->menu()->actions());
}

void RunView::choose_run(const QString& uuid) {
  if (uuid != uuid_) slice_wanted_ = 0;
  uuid_ = uuid;
  ask();
}

void RunView::set_preferred_baseline(const QString& contender) {
  baseline_preference_ = contender;
}

void RunView::ask() {
  if (uuid_.isEmpty()) return;
  Q_EMIT run_wanted(
      {.uuid = uuid_,
       .baseline = no_baseline_ ? QString() : baseline_preference_,
       .any_baseline = !no_baseline_,
       .x = x_axis_->currentIndex() == 0 ? report::XAxis::length : report::XAxis::window,
       .slice = slice_wanted_});
}

void RunView::show_run(const RunPointer& run) {
  if (run->request.uuid != uuid_) return;  // the answer to an earlier question
  const bool first_rows = table_model_.rowCount() == 0 || !table_model_.run() ||
                          table_model_.run()->request.uuid != uuid_;
  if (!run->problem.isEmpty()) Q_EMIT failed(run->problem);
  std::vector<std::string> ids;
  for (const QString& id : run->contenders) ids.push_back(id.toStdString());
  time_->set_contenders(ids);
  second_->set_contenders(ids);
  delegate_->set_contenders(ids);
  table_model_.set_run(run);
  if (first_rows && table_model_.rowCount() > 0) {
    table_->resizeColumnsToContents();
    table_->scrollToTop();
  }
  show_pickers(*run);
  show_figures(*run);
  show_answers(*run);
}

void RunView::show_answers(const RunSnapshot& run) {
  constexpr qsizetype most = 3;  // the command line has room for all of them
  QStringList shown = run.answers.mid(0, most);
  if (run.answers.size() > most) {
    shown.append(tr("%1 more: attnscope answer %2")
                     .arg(run.answers.size() - most)
                     .arg(run.table.run.number));
  }
  answers_->setText(shown.join(QLatin1Char('\n')));
  answers_->setToolTip(run.answers.join(QLatin1Char('\n')));
  answers_->setVisible(!shown.isEmpty());
}

void RunView::show_pickers(const RunSnapshot& run) {
  const RunInfo& info = run.table.run;
  title_->setText(QStringLiteral("%1  %2").arg(info.number).arg(words(info.start.sweep_name)));
  QStringList detail{status_words(info), words(info.start.device)};
  if (run.time.figure) detail.append(words(run.time.figure->title));
  if (run.damaged_cells > 0) {
    detail.append(tr("%n damaged cell(s) without values: Export run keeps the others", nullptr,
                     run.damaged_cells));
  }
  detail_->setText(detail.join(QStringLiteral(" · ")));
  detail_->setToolTip(words(report::provenance_line(info)));

  baseline_->clear();
  baseline_->addItem(tr("none"));
  baseline_->addItems(run.contenders);
  baseline_->setCurrentIndex(
      run.table.baseline ? std::max(0, baseline_->findText(words(*run.table.baseline))) : 0);
  slice_->clear();
  slice_->addItems(run.slices);
  slice_->setCurrentIndex(run.request.slice);
  slice_->setVisible(run.slices.size() > 1);
  for (QPushButton* button : {copy_, export_}) button->setEnabled(!run.table.rows.empty());
}

void RunView::show_figures(const RunSnapshot& run) {
  const QString waiting = run.table.run.status == RunStatus::running
                              ? tr("The first heat is being measured.")
                              : tr("This run has no finished heat.");
  const NamedChart chosen =
      second_charts()[static_cast<std::size_t>(std::max(0, second_y_->currentIndex()))];
  const std::pair<charts::RunChart*, const FigureSnapshot*> pairs[] = {
      {time_, &run.time}, {second_, &figure_of(run, chosen.y)}};
  for (const auto& [chart, snapshot] : pairs) {
    chart->set_placeholder(snapshot->problem.isEmpty() ? waiting : snapshot->problem);
    report::Figure figure = snapshot->figure.value_or(report::Figure{});
    figure.title.clear();  // stands above both charts
    chart->set_figure(figure);
  }
}

void RunView::copy_table(report::TableFormat format) {
  if (!run() || run()->table.rows.empty()) return;
  QApplication::clipboard()->setText(words(report::write_table(run()->table, format)));
  Q_EMIT succeeded(
      tr("Copied the table of %n cell(s).", nullptr, static_cast<int>(run()->table.rows.size())));
}

void RunView::export_table(report::TableFormat format) {
  if (!run()) return;
  QString extension;
  for (const TableFormatEntry& entry : table_formats())
    if (entry.format == format) extension = QLatin1String(entry.extension);
  ask_for_new_file(this, tr("Export table"), file_stem(*run(), QStringLiteral("table")), extension,
                   [this, format, shown = run()](const QString& file) {
                     const Status written =
                         write_text_file(file, report::write_table(shown->table, format));
                     if (written) {
                       Q_EMIT succeeded(tr("Wrote %1").arg(file));
                     } else {
                       Q_EMIT failed(words(written.error().message));
                     }
                   });
}

void RunView::export_figure(report::YAxis y, const QString& name, const QString& extension) {
  if (!run()) return;
  ask_for_new_file(this, tr("Export figure"), file_stem(*run(), name), extension,
                   [this, y, shown = run()](const QString& file) {
                     const Status written = write_figure_file(*shown, y, file);
                     if (written) {
                       Q_EMIT succeeded(tr("Wrote %1").arg(file));
                     } else {
                       Q_EMIT failed(words(written.error().message));
                     }
                   });
}

}  // namespace attnscope::gui
