// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_view.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QSettings>
#include <QSignalBlocker>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/charts/run_chart.h"
#include "app/gui/models/run_list_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/cell_panel.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/run_table.h"
#include "app/gui/views/theme.h"
#include "base/written_file.h"
#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "views/ui_run_view.h"

namespace attnscope::gui {
SliceFields::SliceFields(QWidget* parent)
    : QWidget(parent), form_(new QFormLayout), moved_(new QLabel) {
  moved_->setObjectName(QStringLiteral("slice_moved"));
  moved_->setTextFormat(Qt::PlainText);
  moved_->setWordWrap(true);
  moved_->setAccessibleName(tr("Changes caused by the choice"));
  moved_->hide();
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form_);
  layout->addWidget(moved_);
}

void SliceFields::add_leading(const QString& label, QComboBox* control) {
  form_->addRow(label, control);
}

void SliceFields::set_shown(QComboBox* control, bool shown) {
  form_->setRowVisible(control, shown);
}

QStringList SliceFields::in_words() const {
  QStringList all;
  for (const report::SliceAxis& axis : slice_.axes) {
    all.append(qstring(axis.name).toLower() + QLatin1Char(' ') +
               qstring(axis.values[axis.chosen].words));
  }
  return all;
}

void SliceFields::show_slice(const report::Slice& slice) {
  const bool same_axes =
      std::equal(slice.axes.begin(), slice.axes.end(), slice_.axes.begin(), slice_.axes.end(),
                 [](const auto& a, const auto& b) { return a.key == b.key; });
  const bool same_values = slice.axes == slice_.axes;
  slice_ = slice;
  // An unchanged selector keeps the focus and its open list.
  if (!same_axes) rebuild();
  if (!same_values) fill();
  moved_->setText(qstring(slice_.moved));
  moved_->setVisible(!slice_.moved.empty());
}

void SliceFields::rebuild() {
  for (QComboBox* selector : selectors_) form_->removeRow(selector);
  selectors_.clear();
  for (const report::SliceAxis& axis : slice_.axes) {
    QComboBox* selector = picker(QStringLiteral("slice_") + qstring(axis.key), qstring(axis.name),
                                 tr("The charts show one value of this axis"));
    if (axis.key == "window") explain(selector, explained(QStringLiteral("w")));
    connect(selector, &QComboBox::activated, this,
            [this, selector, key = qstring(axis.key)](int at) {
              Q_EMIT chosen(key, selector->itemData(at).toString());
            });
    selectors_.append(selector);
    form_->addRow(qstring(axis.name), selector);
  }
}

void SliceFields::fill() {
  for (std::size_t i = 0; i < slice_.axes.size(); ++i) {
    const report::SliceAxis& axis = slice_.axes[i];
    QComboBox* selector = selectors_.at(static_cast<int>(i));
    selector->clear();
    for (const report::SliceValue& value : axis.values) {
      const QString text = qstring(value.words);
      selector->addItem(value.together ? text : QStringLiteral("(%1)").arg(text),
                        qstring(value.value));
      if (value.together) continue;
      const int last = selector->count() - 1;
      selector->setItemData(last, faint_text(palette()), Qt::ForegroundRole);
      selector->setItemData(last, tr("%1, not measured with the other choices").arg(text),
                            Qt::AccessibleTextRole);
      selector->setItemData(last,
                            tr("Not measured with the other choices: selecting it changes them to "
                               "the nearest measured ones"),
                            Qt::ToolTipRole);
    }
    selector->setCurrentIndex(static_cast<int>(axis.chosen));
  }
}

void SliceFields::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) fill();
}

RunHalves::RunHalves(QWidget* charts, QTabWidget* tabs)
    : QSplitter(Qt::Vertical), charts_(charts), tabs_(tabs) {
  setObjectName(QStringLiteral("run_split"));
  addWidget(charts_);
  addWidget(tabs_);
  setStretchFactor(0, 68);
  setStretchFactor(1, 32);
  setSizes({680, 320});
  setChildrenCollapsible(false);
  setHandleWidth(8);
  keep_sizes(*this);
  of_charts_ = charts_->sizePolicy();
  connect(tabs_, &QTabWidget::tabBarClicked, this, [this] { charts_are_wanted_ = false; });
}

void RunHalves::bring_charts() {
  charts_are_wanted_ = true;
  if (is_folded()) tabs_->setCurrentWidget(charts_);
}

bool RunHalves::is_folded() const {
  return indexOf(charts_) < 0;
}

QSize RunHalves::minimumSizeHint() const {
  return {QSplitter::minimumSizeHint().width(), tabs_->minimumSizeHint().height()};
}

int RunHalves::least_of_tabs() const {
  const int of_page =
      lower_ == nullptr ? 0 : std::max(lower_->minimumSizeHint().height(), lower_->minimumHeight());
  return tabs_->tabBar()->sizeHint().height() + of_page;
}

void RunHalves::fold_or_unfold() {
  QWidget* front = tabs_->currentWidget();
  if (front != charts_) lower_ = front;
  // Hidden tabs request no height.
  for (int at = 0; at < tabs_->count(); ++at) {
    tabs_->widget(at)->setSizePolicy(QSizePolicy::Preferred, tabs_->widget(at) == front
                                                                 ? QSizePolicy::Preferred
                                                                 : QSizePolicy::Ignored);
  }
  if (!isVisible()) return;
  const bool was_folded = is_folded();
  // In a hidden tab, the charts have an outdated width.
  if (was_folded && !charts_->isVisible()) charts_->resize(width(), charts_->height());
  const bool folds =
      height() < charts_->minimumSizeHint().height() + handleWidth() + least_of_tabs();
  if (folds == was_folded) return;
  const QSignalBlocker quiet(tabs_);  // not a user's choice
  if (folds) {
    unfolded_ = sizes();
    tabs_->addTab(charts_, tr("Charts"));
    charts_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored);
    if (charts_are_wanted_) tabs_->setCurrentWidget(charts_);
  } else {
    tabs_->setCurrentWidget(lower_);
    tabs_->removeTab(tabs_->indexOf(charts_));
    charts_->setSizePolicy(of_charts_);
    insertWidget(0, charts_);
    charts_->show();
    setSizes(unfolded_);
  }
}

bool RunHalves::event(QEvent* event) {
  const bool done = QSplitter::event(event);
  const bool has_room_changed = event->type() == QEvent::Resize || event->type() == QEvent::Show ||
                                event->type() == QEvent::LayoutRequest;
  if (has_room_changed) fold_or_unfold();
  return done;
}

namespace {

constexpr const char* tab_setting = "compare/tab";
constexpr int no_view = -1;

/// A selector for the content of a chart.
QComboBox* view_picker(const QString& name, const QString& accessible_name, report::YAxis chosen,
                       bool may_be_none) {
  QComboBox* box = picker(name, accessible_name, RunView::tr("What this chart shows"));
  for (const report::View& each : report::views()) {
    if (!each.of_one_length) box->addItem(qstring(each.title), static_cast<int>(each.y));
  }
  if (may_be_none) box->addItem(RunView::tr("none"), no_view);
  box->setCurrentIndex(box->findData(static_cast<int>(chosen)));
  keep_choice(*box);
  return box;
}

/// Offers views that apply only to re-rankers if the run has re-rankers.
void offer_views(QComboBox& picker, bool of_models) {
  auto* list = qobject_cast<QListView*>(picker.view());
  for (const report::View& each : report::views()) {
    if (each.of_models) list->setRowHidden(picker.findData(static_cast<int>(each.y)), !of_models);
  }
}

/// One of the run's views, for its slice.
const FigureSnapshot& figure_of(const RunSnapshot& run, report::YAxis y) {
  static const FigureSnapshot nothing;
  const auto found = run.figures.find(y);
  return found == run.figures.end() ? nothing : found->second;
}

report::YAxis chosen_view(const QComboBox& picker) {
  return static_cast<report::YAxis>(picker.currentData().toInt());
}

}  // namespace

RunView::RunView(QWidget* parent)
    : QWidget(parent),
      ui_(std::make_unique<Ui::RunView>()),
      first_view_(view_picker(QStringLiteral("time_view"), tr("What the left chart shows"),
                              report::YAxis::time, false)),
      second_view_(view_picker(QStringLiteral("second_view"), tr("What the right chart shows"),
                               report::YAxis::memory, true)),
      x_axis_(picker(QStringLiteral("x_axis"), tr("Horizontal axis"),
                     tr("The horizontal axis of the charts"))),
      facets_(picker(QStringLiteral("facets"), tr("Panels"),
                     tr("One panel for each value of an axis, on the same scales"))),
      slice_fields_(new SliceFields),
      chart_(new charts::RunChart),
      table_(new RunTable),
      panel_(new CellPanel),
      tabs_(new QTabWidget) {
  x_axis_->addItems({tr("Length"), tr("Window"), tr("Candidates")});  // as in report::XAxis
  keep_choice(*x_axis_);
  x_requested_ = static_cast<report::XAxis>(x_axis_->currentIndex());
  build_head();
  ui_->column->addWidget(build_body(), 1);
  build_actions();
  wire();
}

RunView::~RunView() = default;

PopupButton* RunView::choices() const {
  return ui_->chart_choices;
}

void RunView::build_head() {
  ui_->setupUi(this);
  ui_->head->setSpacing(space::hair);
  for (QWidget* line : {ui_->line, ui_->disturbance}) new FlowLayout(line);
  set_text(ui_->verdict, TextSize::heading);
  for (QLabel* aside : {ui_->run_detail, ui_->against_baseline, ui_->disturbed_cells})
    aside->setForegroundRole(QPalette::PlaceholderText);
  ui_->chart_choices->set_fields(slice_fields_);
  slice_fields_->add_leading(tr("Left chart"), first_view_);
  slice_fields_->add_leading(tr("Right chart"), second_view_);
  slice_fields_->add_leading(tr("x axis"), x_axis_);
  slice_fields_->add_leading(tr("Panels"), facets_);
}

QWidget* RunView::build_body() {
  chart_->setObjectName(QStringLiteral("run_chart"));
  chart_->set_title_shown(false);  // shown above the chart
  tabs_->setObjectName(QStringLiteral("run_tabs"));
  tabs_->setDocumentMode(true);
  add_tab(table_, tr("Table"), QStringLiteral("table"));
  add_tab(panel_, tr("Cell"), QStringLiteral("cell"));
  add_tab(panel_->samples(), tr("Samples"), QStringLiteral("samples"));
  halves_ = new RunHalves(chart_, tabs_);
  connect(tabs_, &QTabWidget::currentChanged, this, [this](int at) {
    const QVariant name = tabs_->tabBar()->tabData(at);
    if (name.isValid()) QSettings().setValue(QLatin1String(tab_setting), name);
    halves_->fold_or_unfold();
  });
  return halves_;
}

void RunView::add_tab(QWidget* content, const QString& title, const QString& name, int place) {
  const QString kept = QSettings().value(QLatin1String(tab_setting)).toString();
  const QSignalBlocker quiet(tabs_);  // not a user's choice
  const int at = tabs_->insertTab(place < 0 ? tabs_->count() : place, content, title);
  tabs_->tabBar()->setTabData(at, name);
  if (name == kept || (kept.isEmpty() && at == 0)) tabs_->setCurrentIndex(at);
}

void RunView::show_tab(const QString& name) {
  for (int i = 0; i < tabs_->count(); ++i) {
    if (tabs_->tabBar()->tabData(i).toString() == name) tabs_->setCurrentIndex(i);
  }
}

void RunView::build_actions() {
  add_action(this, tr("Go to the cell"), {}, [this] {
    show_tab(QStringLiteral("cell"));
    panel_->setFocus(Qt::ShortcutFocusReason);
  });
  add_action(this, tr("Choose what the charts show"), tr("Ctrl+L"),
             [this] { ui_->chart_choices->open(); });
  add_action(this, tr("Go to the table"), tr("Ctrl+T"), [this] {
    show_tab(QStringLiteral("table"));
    table_->view()->setFocus(Qt::ShortcutFocusReason);
  });
}

void RunView::wire() {
  connect(ui_->measure_disturbed_again, &QPushButton::clicked, this,
          [this] { Q_EMIT again_requested(uuid_); });
  connect(ui_->resume_run, &QPushButton::clicked, this, [this] { Q_EMIT resume_requested(uuid_); });
  connect(chart_, &charts::RunChart::cell_chosen, this, [this](qint64 cell) {
    if (run_ && choose_numbered(cell)) show_tab(QStringLiteral("cell"));
  });
  connect(chart_, &charts::RunChart::export_wanted, this, &RunView::export_figure);
  for (QComboBox* view : {first_view_, second_view_}) {
    connect(view, &QComboBox::currentIndexChanged, this, [this] {
      if (!run_) return;
      show_choices(*run_);
      show_figures(*run_);
    });
    connect(view, &QComboBox::activated, halves_, &RunHalves::bring_charts);
  }
  connect(x_axis_, &QComboBox::activated, this, [this](int index) {
    x_requested_ = static_cast<report::XAxis>(index);
    request_run();
  });
  connect(facets_, &QComboBox::activated, this, [this](int index) {
    facet_ = facets_->itemData(index).toString().toStdString();
    halves_->bring_charts();
    request_run();
  });
  connect(slice_fields_, &SliceFields::chosen, this,
          [this](const QString& key, const QString& value) {
            slice_.first = key.toStdString();
            slice_.values[slice_.first] = value.toStdString();
            request_run();
          });
  connect(table_, &RunTable::choice_changed, this, &RunView::request_run);
  connect(table_, &RunTable::row_chosen, this,
          [this](qulonglong row) { choose_cell(static_cast<std::size_t>(row)); });
  connect(table_, &RunTable::row_opened, this, [this] { show_tab(QStringLiteral("cell")); });
  connect(table_, &RunTable::save_requested, this, &RunView::export_table);
  connect(panel_, &CellPanel::succeeded, this, &RunView::succeeded);
}

QVariantMap RunView::chosen() const {
  QVariantMap slice;
  for (const auto& [axis, value] : slice_.values) slice.insert(qstring(axis), qstring(value));
  return {{QStringLiteral("run"), uuid_},
          {QStringLiteral("slice"), slice},
          {QStringLiteral("panels"), qstring(facet_)}};
}

void RunView::restore(const QVariantMap& chosen) {
  uuid_ = chosen.value(QStringLiteral("run")).toString();
  slice_ = {};
  const QVariantMap slice = chosen.value(QStringLiteral("slice")).toMap();
  for (auto axis = slice.begin(); axis != slice.end(); ++axis)
    slice_.values[axis.key().toStdString()] = axis.value().toString().toStdString();
  facet_ = chosen.value(QStringLiteral("panels")).toString().toStdString();
}

void RunView::choose_run(const QString& uuid, bool is_own) {
  is_own_ = is_own;
  if (uuid != uuid_) {
    slice_ = {};
    facet_.clear();
    chosen_cell_.reset();
  }
  uuid_ = uuid;
  request_run();
}

QStringList RunView::contenders() const {
  return run_ ? run_->contenders : QStringList();
}

QString RunView::baseline() const {
  return run_ && run_->table.baseline ? qstring(*run_->table.baseline) : QString();
}

void RunView::set_baseline(const QString& contender) {
  no_baseline_ = contender.isEmpty();
  if (!no_baseline_) baseline_preference_ = contender;
  request_run();
}

void RunView::set_preferred_baseline(const QString& contender) {
  baseline_preference_ = contender;
}

void RunView::request_run() {
  if (uuid_.isEmpty()) return;
  Q_EMIT run_wanted({.uuid = uuid_,
                     .baseline = no_baseline_ ? QString() : baseline_preference_,
                     .any_baseline = !no_baseline_,
                     .x = x_requested_,
                     .slice = slice_,
                     .facet = facet_,
                     .pivot = table_->choice()});
}

void RunView::show_run(const RunPointer& run) {
  if (run->request.uuid != uuid_) return;  // the answer to an earlier request
  if (!run->problem.isEmpty()) Q_EMIT failed(run->problem);
  run_ = run;
  // The next choice starts from the values that were substituted.
  slice_.values = run->request.slice.values;
  chart_->set_contenders(run->table.contenders);
  table_->show_run(run);
  show_head(*run);
  show_figures(*run);
  show_verdict(*run);
  if (!chosen_cell_ || !choose_numbered(*chosen_cell_)) panel_->show_cell(run, std::nullopt);
}

bool RunView::choose_numbered(std::int64_t cell) {
  const auto& rows = run_->table.rows;
  const auto chosen = std::ranges::find_if(
      rows, [cell](const report::Row& row) { return row.cell.cell_number == cell; });
  if (chosen == rows.end()) return false;
  choose_cell(static_cast<std::size_t>(chosen - rows.begin()));
  return true;
}

void RunView::choose_cell(std::size_t table_row) {
  if (!run_ || table_row >= run_->table.rows.size()) return;
  chosen_cell_ = run_->table.rows[table_row].cell.cell_number;
  table_->choose_row(table_row);
  panel_->show_cell(run_, table_row);
}

void RunView::show_verdict(const RunSnapshot& run) {
  ui_->verdict->setText(unbroken(run.verdict));
  ui_->against_baseline->setText(run.against_baseline);
  // Crossovers, and what does not fit.
  QStringList more = run.answers;
  ui_->verdict->setToolTip(more.join(QLatin1Char('\n')));
  ui_->verdict->setAccessibleDescription(more.join(QLatin1Char(' ')));
  more.prepend(run.against_baseline);
  ui_->against_baseline->setToolTip(more.join(QLatin1Char('\n')));
  for (QLabel* part : std::initializer_list<QLabel*>{ui_->verdict, ui_->against_baseline})
    part->setVisible(!part->text().isEmpty());
}

QString RunView::detail() const {
  return ui_->run_detail->text();
}

void RunView::show_progress(const std::optional<Progress>& progress) {
  progress_ = progress;
  if (run_) show_detail(*run_);
}

void RunView::show_detail(const RunSnapshot& run) {
  const RunInfo& info = run.table.run;
  QStringList detail{status_text({info, progress_}), qstring(info.start.device)};
  if (!run.fixed.isEmpty()) detail.append(run.fixed);
  if (run.damaged_cells > 0) {
    detail.append(tr("%1 without values: Export run keeps the others")
                      .arg(counted(run.damaged_cells, tr("damaged cell"), tr("damaged cells"))));
  }
  ui_->run_detail->setText(detail.join(QStringLiteral(" · ")));
  ui_->run_detail->setToolTip(ui_->run_detail->text() + QLatin1Char('\n') +
                              qstring(report::provenance_line(info)));
}

void RunView::show_head(const RunSnapshot& run) {
  const RunInfo& info = run.table.run;
  ui_->run_title->setText(
      QStringLiteral("%1  %2").arg(info.number).arg(shortened(qstring(title_of(info)), 60)));
  constexpr int widest = 400;  // for a small window
  ui_->run_title->setWordWrap(
      ui_->run_title->fontMetrics().horizontalAdvance(ui_->run_title->text()) > widest);
  show_detail(run);
  // The hint names the cause.
  const QString disturbed = qstring(report::disturbed_share(report::all_rows(run.table.rows)))
                                .remove(QStringLiteral(" by other programs"));
  ui_->disturbed_cells->setText(tr("%1 (! in the table).").arg(disturbed));
  ui_->disturbed_cells->setToolTip(ui_->disturbed_cells->text());
  ui_->disturbance->setVisible(!disturbed.isEmpty());
  ui_->measure_disturbed_again->setVisible(is_own_ && info.status != RunStatus::running &&
                                           !info.damaged);
  const bool was_ended =
      info.status == RunStatus::interrupted || info.status == RunStatus::cancelled;
  ui_->resume_run->setVisible(was_ended && !info.damaged && is_own_);

  for (QComboBox* view : {first_view_, second_view_}) offer_views(*view, run.of_models);
  x_axis_->setCurrentIndex(static_cast<int>(run.request.x));
  facet_ = run.request.facet;
  QStringList keys{QString()};
  for (const std::string& key : run.facet_keys) keys.append(qstring(key));
  QStringList offered;
  for (int i = 0; i < facets_->count(); ++i) offered.append(facets_->itemData(i).toString());
  if (offered != keys) {
    facets_->clear();
    facets_->addItem(tr("single"), QString());
    for (const std::string& key : run.facet_keys)
      facets_->addItem(tr("by %1").arg(qstring(report::axis_name(key)).toLower()), qstring(key));
  }
  facets_->setCurrentIndex(std::max(0, facets_->findData(qstring(facet_))));
  slice_fields_->set_shown(facets_, !run.facet_keys.empty());
  slice_fields_->show_slice(run.slice);
  show_choices(run);
}

bool RunView::has_second_view() const {
  return second_view_->currentData().toInt() != no_view;
}

void RunView::show_choices(const RunSnapshot& run) {
  QString drawn = first_view_->currentText();
  if (has_second_view()) drawn += tr(" and %1").arg(second_view_->currentText().toLower());
  drawn += tr(" along %1").arg(x_axis_->currentText().toLower());
  if (!run.request.facet.empty())
    drawn += tr(", panels by %1").arg(qstring(report::axis_name(run.request.facet)).toLower());
  ui_->chart_choices->set_summary(
      (QStringList(drawn) + slice_fields_->in_words()).join(QStringLiteral(", ")));
}

void RunView::show_figures(const RunSnapshot& run) {
  const QString waiting =
      run.table.run.status == RunStatus::running
          ? tr("The first heat is being measured. Its results appear when it finishes.")
          : tr("This run has no finished heat. Continue run measures the rest; Measure again "
               "starts a new run.");
  chart_->set_placeholder(waiting);
  // The selected view may be for re-rankers only, chosen for another run.
  const auto view_or = [&run](const QComboBox& picker, report::YAxis otherwise) {
    const report::YAxis y = chosen_view(picker);
    return &figure_of(run, report::view_of(y).of_models && !run.of_models ? otherwise : y);
  };
  std::vector<const FigureSnapshot*> views{view_or(*first_view_, report::YAxis::time)};
  if (has_second_view()) views.push_back(view_or(*second_view_, report::YAxis::memory));
  // Each row has the same value of the panels' axis.
  report::Facets all;
  std::vector<QString> problems;
  std::size_t rows = 1;
  for (const FigureSnapshot* view : views)
    rows = std::max(rows, view->facets ? view->facets->panels.size() : 0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (const FigureSnapshot* view : views) {
      report::Figure panel;
      if (view->facets && row < view->facets->panels.size()) panel = view->facets->panels[row];
      if (view->figure) {
        panel = *view->figure;
        panel.title.clear();  // the page has it
      }
      all.panels.push_back(std::move(panel));
      problems.push_back(view->problem);
    }
  }
  for (const FigureSnapshot* view : views) {
    if (!all.title.empty() || (!view->facets && !view->figure)) continue;
    const report::Facets frame = view->facets ? *view->facets : charts::facets_of(*view->figure);
    all.title = view->facets ? frame.title : view->figure->title;
    all.columns = views.size() > 1 ? static_cast<int>(views.size()) : frame.columns;
    all.provenance = frame.provenance;
    all.warning = frame.warning;
  }
  chart_->set_facets(all, std::move(problems));
}

void RunView::copy_table(report::TableFormat format) {
  if (!run_ || run_->table.rows.empty()) return;
  QApplication::clipboard()->setText(qstring(table_->text(format)));
  Q_EMIT succeeded(tr("Copied the displayed table."));
}

void RunView::export_table(report::TableFormat format) {
  if (!run_) return;
  ask_for_new_file(this, tr("Export table"), file_stem(run_->table.run, QStringLiteral("table")),
                   {qstring(report::name_of(format).extension)},
                   [this, text = table_->text(format)](const QString& file) {
                     const Status written = write_file(file.toStdString(), text);
                     if (written) {
                       Q_EMIT succeeded(tr("Wrote %1").arg(file));
                     } else {
                       Q_EMIT failed(qstring(written.error().message));
                     }
                   });
}

void RunView::export_figure() {
  if (!run_) return;
  export_chart(*chart_,
               file_stem(run_->table.run, qstring(report::view_of(chosen_view(*first_view_)).key)),
               [this](const QString& sentence) { Q_EMIT succeeded(sentence); });
}

bool RunView::has_figure() const {
  return run_ && !chart_->page().empty();
}

}  // namespace attnscope::gui
