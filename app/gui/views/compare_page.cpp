// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/compare_page.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>
#include <initializer_list>
#include <utility>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/store_reader.h"
#include "app/gui/session/text.h"
#include "app/gui/views/answer_panel.h"
#include "app/gui/views/comparison_view.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/page.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "app/gui/views/theme.h"
#include "views/ui_first_start.h"

namespace attnscope::gui {

ComparePage::ComparePage(RunListModel* runs, const StoreThread& store)
    : store_(store),
      runs_(runs),
      messages_(new MessageBar(this)),
      progress_(new ProgressStrip),
      run_list_(new RunListPanel(runs, store)),
      run_view_(new RunView),
      answer_(new AnswerPanel),
      side_by_side_view_(new SideBySideView),
      place_(new MessageBar),
      published_view_(new PublishedView),
      comparison_view_(new ComparisonView),
      empty_(build_empty()),
      run_body_(build_run()) {
  auto* main = new QWidget;
  auto* column = new QVBoxLayout(main);
  column->setContentsMargins(space::around);
  column->addWidget(progress_);
  for (QWidget* each :
       std::initializer_list<QWidget*>{empty_, run_body_, published_view_, comparison_view_}) {
    each->hide();
    column->addWidget(each, 1);
  }
  show_body(empty_);

  auto* split = new QSplitter(Qt::Horizontal);
  split->setObjectName(QStringLiteral("compare_split"));
  split->addWidget(build_side());
  split->addWidget(new SideArea(main, tr("Run")));
  split->setStretchFactor(1, 1);
  split->setSizes({250, 950});
  split->setChildrenCollapsible(false);
  split->setHandleWidth(1);
  keep_sizes(*split);
  auto* layout = new QHBoxLayout(this);
  layout->addWidget(split);

  connect(run_list_, &RunListPanel::run_chosen, this, [this](const QString& uuid) {
    show_body(run_body_);
    const Listed* run = run_list_->published().listed(uuid);
    if (run_list_->section() == RunListPanel::published_section && run && runs_->rowCount() == 0) {
      const RunInfo& info = run->entry.info;
      place_->show_offer(
          tr("You have no runs yet: this read-only example ships with AttnScope (%1, "
             "on %2). The quick sweep "
             "measures your machine in less than a minute.")
              .arg(qstring(title_of(info)), qstring(info.start.device)),
          tr("Run the quick sweep"), {}, [this] { Q_EMIT quick_sweep_requested(); });
    } else if (run_list_->section() == RunListPanel::published_section && run) {
      place_->show_offer(
          tr("This run ships with AttnScope and is read-only."), tr("Copy into my runs"), {},
          [this, file = run->file] { store_.post(&StoreReader::import_file, file); });
    } else if (run_list_->section() == RunListPanel::trash_section) {
      place_->show_offer(tr("This run is in the trash."), tr("Restore"), {}, [this, uuid] {
        store_.post(&StoreReader::take_from_trash, QStringList{uuid});
      });
    } else {
      place_->clear();
    }
    run_view_->choose_run(uuid, run_list_->section() == RunListPanel::runs_section);
    Q_EMIT offers_changed();
  });
  connect(run_list_, &RunListPanel::table_chosen, this, &ComparePage::show_table);
  connect(run_list_, &RunListPanel::nothing_chosen, this, [this] {
    if (run_list_->section() == RunListPanel::runs_section) runs_changed();
  });
  connect(comparison_view_, &ComparisonView::swap_requested, store.reader(),
          &StoreReader::compare_runs);
  connect(comparison_view_, &ComparisonView::succeeded, this, &Page::succeeded);
  connect(comparison_view_, &ComparisonView::closed, this, [this] {
    show_body(run_body_);
    Q_EMIT offers_changed();
  });
  connect(quick_, &QPushButton::clicked, this, &ComparePage::quick_sweep_requested);
  connect(run_view_, &RunView::succeeded, this, &Page::succeeded);
  connect(run_view_, &RunView::failed, this, &Page::failed);
  connect(answer_, &AnswerPanel::measure_requested, this, &Page::run_requested);
  connect(answer_, &AnswerPanel::succeeded, this, &Page::succeeded);
  connect(answer_, &AnswerPanel::failed, this, &Page::failed);
  for (const QWidget* part : std::initializer_list<const QWidget*>{answer_, run_view_})
    addActions(part->actions());  // active anywhere on the page
  connect(answer_, &AnswerPanel::question_wanted, this,
          [this] { run_view_->show_tab(QLatin1String(RunView::answer_tab)); });
  connect(this, &Page::succeeded, messages_, &MessageBar::show_info);
  connect(this, &Page::failed, messages_,
          [this](const QString& sentence) { messages_->show_error(sentence); });
  connect(messages_, &MessageBar::fix_requested, store.reader(), &StoreReader::open);
}

QWidget* ComparePage::build_side() {
  auto* side = new QWidget;
  auto* layout = new QVBoxLayout(side);
  layout->setContentsMargins(space::around);
  layout->addWidget(run_list_, 1);
  return side;
}

QWidget* ComparePage::build_empty() {
  auto* empty = new QWidget;
  Ui::FirstStart form;
  form.setupUi(empty);
  form.column->setSpacing(space::margin);
  set_text(form.title, TextSize::title);
  quick_ = form.quick_sweep;
  look_ = form.look_at_published;
  connect(look_, &QPushButton::clicked, this,
          [this] { run_list_->choose(run_list_->published().first_run()); });
  return empty;
}

QWidget* ComparePage::build_run() {
  auto* run = new QWidget;
  auto* layout = new QVBoxLayout(run);
  layout->addWidget(place_);
  run_view_->add_tab(answer_, tr("Answer"), QLatin1String(RunView::answer_tab), 0);
  run_view_->add_tab(side_by_side_view_, tr("Published"), QStringLiteral("published"));
  layout->addWidget(run_view_, 1);
  return run;
}

void ComparePage::show_body(QWidget* shown) {
  if (body_ == shown) return;
  if (body_ != nullptr) body_->hide();
  body_ = shown;
  body_->show();
}

void ComparePage::show_table(const QString& id) {
  const Listed* listed = run_list_->published().listed(id);
  if (!listed || !listed->table) return;
  published_view_->show_table(*listed->table);
  show_body(published_view_);
  Q_EMIT offers_changed();
}

void ComparePage::show_published(const PublishedPointer& runs) {
  run_list_->set_published(runs);
  look_->setVisible(!runs->empty());
  show_first_start();
}

// Shows numbers at once instead of an empty page: those of a shipped run.
void ComparePage::show_first_start() {
  const QString first = run_list_->published().first_run();
  const bool chose_something = !run_list_->chosen().isEmpty();
  if (!is_empty_ || started_ || chose_something || first.isEmpty()) return;
  started_ = true;
  run_list_->choose(first);
}

void ComparePage::show_trashed(const QStringList& uuids, const QString& sentence) {
  messages_->show_offer(sentence, tr("Undo"), QKeySequence(tr("Ctrl+Z")),
                        [this, uuids] { store_.post(&StoreReader::take_from_trash, uuids); });
}

QStringList ComparePage::baselines() const {
  if (body_ != run_body_) return {};
  return run_view_->contenders();
}

QString ComparePage::baseline() const {
  return run_view_->baseline();
}

void ComparePage::set_baseline(const QString& baseline) {
  run_view_->set_baseline(baseline);
}

bool ComparePage::has_table() const {
  if (body_ == comparison_view_) return comparison_view_->has_table();
  if (body_ == published_view_) return true;
  return body_ == run_body_ && run_view_->run() && !run_view_->run()->table.rows.empty();
}

void ComparePage::copy_table(report::TableFormat format) {
  if (body_ == comparison_view_) return comparison_view_->copy_table(format);
  if (body_ == published_view_) {
    published_view_->copy_table(format);
    const auto rows = static_cast<qint64>(published_view_->shown().rows.size());
    Q_EMIT succeeded(
        tr("Copied the published table of %1.").arg(counted(rows, tr("row"), tr("rows"))));
    return;
  }
  run_view_->copy_table(format);
}

bool ComparePage::has_figure() const {
  if (body_ == comparison_view_) return comparison_view_->has_figure();
  return run_view_->has_figure() && body_ == run_body_;
}

void ComparePage::export_figure() {
  if (body_ == comparison_view_) return comparison_view_->export_figure();
  run_view_->export_figure();
}

QString ComparePage::run_text() const {
  return tr("New run…");
}

void ComparePage::run() {
  Q_EMIT run_requested({});
}

QList<Page::PageActions> ComparePage::page_actions() const {
  return {{tr("In the list of runs"), run_list_->actions()},
          {tr("In the answer"), answer_->actions()},
          {tr("In a run"), run_view_->actions()}};
}

void ComparePage::show_comparison(const ComparisonPointer& comparison) {
  comparison_view_->show_comparison(comparison);
  show_body(comparison_view_);
  Q_EMIT offers_changed();
}

void ComparePage::show_run(const RunPointer& run) {
  run_view_->show_run(run);
  show_progress();
  answer_->show_run(run_view_->run());
  side_by_side_view_->show_run(run);
  Q_EMIT offers_changed();
}

void ComparePage::show_progress() {
  const RunPointer& shown = run_view_->run();
  const RunEntry* entry = shown ? runs_->entry(shown->request.uuid) : nullptr;
  run_view_->show_progress(entry ? entry->progress : std::nullopt);
}

void ComparePage::runs_changed() {
  progress_->show_run(runs_->live());
  show_progress();
  if (run_list_->section() != RunListPanel::runs_section) return;
  is_empty_ = runs_->rowCount() == 0;
  if (is_empty_) {
    show_body(empty_);
    Q_EMIT offers_changed();
    return show_first_start();
  }
  started_ = true;
  if (!run_list_->chosen().isEmpty()) return;
  const QString kept = run_view_->chosen().value(QStringLiteral("run")).toString();
  const bool has_kept = !runs_->live() && runs_->entry(kept);
  choose_run(has_kept ? kept : runs_->index(0).data(RunListModel::uuid_role).toString());
}

void ComparePage::show_starting() {
  started_ = true;
  run_list_->show_section(RunListPanel::runs_section);
  messages_->clear();
  if (!runs_->live()) progress_->show_starting();
}

void ComparePage::choose_run(const QString& uuid) {
  run_list_->choose(uuid);
}

void ComparePage::show_refused(const QString& sentence) {
  messages_->show_error(sentence, tr("Try again"));
  quick_->setEnabled(false);
}

void ComparePage::show_waiting(const QString& sentence) {
  waiting_ = sentence;
  messages_->show_info(sentence);
}

void ComparePage::show_lock_released() {
  // Keeps a later message, which the user may not have read yet.
  if (messages_->text() == std::exchange(waiting_, QString())) messages_->clear();
}

void ComparePage::show_store_opened() {
  messages_->clear();
  quick_->setEnabled(true);
}

}  // namespace attnscope::gui
