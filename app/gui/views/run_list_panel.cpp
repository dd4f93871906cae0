// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_list_panel.h"

#include <QAction>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/run_item_delegate.h"
#include "app/gui/views/run_notes.h"
#include "app/gui/views/tag_bar.h"

namespace attnscope::gui {
namespace {

/// This row and no other, whichever keys are held.
void select(const QListView& list, const QModelIndex& index) {
  list.selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect);
}

}  // namespace

RunListPanel::RunListPanel(RunListModel* model, QWidget* parent)
    : QWidget(parent),
      model_(model),
      sections_(new QTabBar),
      search_(new QLineEdit),
      more_(new QToolButton),
      tags_(new TagBar),
      stack_(new QStackedWidget),
      notes_(new RunNotes),
      compare_button_(new QPushButton(tr("Compare the two"))),
      hint_(new QLabel),
      new_run_(new QPushButton(tr("New run…"))) {
  model_->set_editable(true);
  lists_[runs_section] = make_list(runs_section, model, tr("Runs"));
  lists_[published_section] = make_list(published_section, &published_, tr("Published"));
  lists_[trash_section] = make_list(trash_section, &trash_, tr("Runs in the trash"));
  list()->setObjectName(QStringLiteral("run_list"));
  list(published_section)->setObjectName(QStringLiteral("published_list"));
  list(trash_section)->setObjectName(QStringLiteral("trash_list"));
  for (QListView* each : lists_) stack_->addWidget(each);
  hint_->setWordWrap(true);
  hint_->setForegroundRole(QPalette::PlaceholderText);
  hint_->setTextFormat(Qt::PlainText);
  hint_->setObjectName(QStringLiteral("run_list_hint"));
  tags_->setAccessibleName(tr("Tags"));

  auto* layout = new QVBoxLayout(this);
  layout->addWidget(sections_);
  layout->addWidget(build_head());
  layout->addWidget(tags_);
  layout->addWidget(hint_);
  layout->addWidget(new_run_, 0, Qt::AlignLeft);
  layout->addWidget(stack_, 1);
  layout->addWidget(notes_);
  layout->addWidget(compare_button_);
  build_actions();
  new_run_->setObjectName(QStringLiteral("first_run"));
  connect(new_run_, &QPushButton::clicked, this, &RunListPanel::new_run_wanted);
  connect(notes_, &RunNotes::tags_typed, this, &RunListPanel::tags_wanted);
  connect(notes_, &RunNotes::note_typed, this, &RunListPanel::note_wanted);
  compare_button_->setObjectName(QStringLiteral("compare_the_two"));
  compare_button_->setToolTip(tr("The newer one against the older (%1)")
                                  .arg(compare_->shortcut().toString(QKeySequence::NativeText)));
  compare_button_->hide();
  connect(compare_button_, &QPushButton::clicked, compare_, &QAction::trigger);

  connect(sections_, &QTabBar::currentChanged, this, [this](int at) {
    stack_->setCurrentIndex(at);
    tags_->setVisible(at == runs_section && !model_->tags().isEmpty());
    QListView* front = lists_[at];
    update_hint();
    show_selected();
    const QModelIndex before = front->currentIndex();
    // A list that gets the focus makes its first row current, but does not select it.
    if (front->selectionModel()->selectedIndexes().isEmpty())
      select(*front, before.isValid() ? before : front->model()->index(0, 0));
    if (front->currentIndex() == before) tell_choice(before);
  });
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    for (RunFilter& filter : filters_) filter.set_search(text);
    update_hint();
  });
  connect(tags_, &TagBar::chosen_changed, this, [this](const QStringList& tags) {
    filters_[runs_section].set_tags(tags);
    update_hint();
  });
  connect(model_, &RunListModel::rename_asked, this, &RunListPanel::rename_wanted);
  for (const auto changed : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
    for (RunFilter& filter : filters_) connect(&filter, changed, this, &RunListPanel::update_hint);
  }
  const auto read_tags = [this] {
    tags_->set_tags(model_->tags());
    if (section() != runs_section) tags_->hide();
    QWidget* before = more_;
    for (auto* tag : tags_->findChildren<QToolButton*>()) {
      setTabOrder(before, tag);
      before = tag;
    }
  };
  connect(model_, &QAbstractItemModel::dataChanged, this, read_tags);
  for (RunFilter& filter : filters_)
    connect(&filter, &QAbstractItemModel::dataChanged, this, &RunListPanel::show_selected);
  connect(model_, &QAbstractItemModel::rowsInserted, this, read_tags);
  connect(model_, &QAbstractItemModel::rowsRemoved, this, read_tags);
  update_hint();
}

void RunListPanel::show_selected() {
  const std::vector<const RunEntry*> runs = selected_runs();
  compare_button_->setVisible(section() == runs_section && runs.size() == 2);
  notes_->show_runs(runs);
}

RunListPanel::~RunListPanel() {
  // The models go before the lists that show them, and nobody is to be told of that.
  for (const QListView* each : lists_) disconnect(each->selectionModel(), nullptr, this, nullptr);
}

QListView* RunListPanel::make_list(Section section, QAbstractItemModel* model,
                                   const QString& name) {
  RunFilter& filter = filters_[section];
  filter.setSourceModel(model);
  auto* list = new QListView;
  list->setModel(&filter);
  list->setItemDelegate(new RunItemDelegate(list));
  list->setAccessibleName(name);
  list->setFrameShape(QFrame::NoFrame);
  list->setUniformItemSizes(true);
  list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list->setContextMenuPolicy(Qt::CustomContextMenu);
  list->setSelectionMode(section == published_section ? QAbstractItemView::SingleSelection
                                                      : QAbstractItemView::ExtendedSelection);
  list->setEditTriggers(QAbstractItemView::NoEditTriggers);  // by F2 or the menu alone
  connect(list->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this, section](const QModelIndex& current) {
            if (this->section() == section) tell_choice(current);
          });
  connect(list->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &RunListPanel::show_selected);
  connect(list, &QWidget::customContextMenuRequested, this, [this, list](QPoint position) {
    QMenu* menu = make_menu();
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(list->viewport()->mapToGlobal(position));
  });
  return list;
}

QWidget* RunListPanel::build_head() {
  const QString names[] = {tr("Runs"), tr("Published"), tr("Trash")};
  const QString tips[] = {tr("Your own runs (Alt+1)"),
                          tr("Numbers of the papers, and runs that ship (Alt+2)"),
                          tr("Runs that were put away (Alt+3)")};
  for (int at = 0; at < section_count; ++at) {
    sections_->addTab(names[at]);
    sections_->setTabToolTip(at, tips[at]);
    auto* go = new QAction(names[at], this);
    go->setShortcut(QKeySequence(QStringLiteral("Alt+%1").arg(at + 1)));
    connect(go, &QAction::triggered, this, [this, at] {
      show_section(static_cast<Section>(at));
      lists_[at]->setFocus(Qt::ShortcutFocusReason);
    });
    addAction(go);
  }
  sections_->setObjectName(QStringLiteral("run_sections"));
  sections_->setAccessibleName(tr("Which runs are listed"));
  sections_->setDrawBase(false);
  sections_->setExpanding(true);
  sections_->setUsesScrollButtons(true);
  search_->setPlaceholderText(tr("Search runs"));
  search_->setAccessibleName(tr("Search runs"));
  search_->setToolTip(tr("Words of name, tags, device, date and note (Ctrl+F)"));
  search_->setClearButtonEnabled(true);
  search_->setObjectName(QStringLiteral("run_search"));
  more_->setText(QStringLiteral("⋯"));
  more_->setObjectName(QStringLiteral("run_more"));
  more_->setAccessibleName(tr("What can be done with the chosen runs"));
  more_->setToolTip(tr("What can be done with the chosen runs (Ctrl+M)"));
  connect(more_, &QToolButton::clicked, this, &RunListPanel::show_more);
  more_->setFocusPolicy(Qt::StrongFocus);
  auto* head = new QWidget;
  auto* layout = new QHBoxLayout(head);
  layout->addWidget(search_, 1);
  layout->addWidget(more_);
  return head;
}

void RunListPanel::set_trash(const RunListPointer& runs) {
  trash_.set_entries(runs->trash);
  sections_->setTabText(
      trash_section, runs->trash.empty() ? tr("Trash") : tr("Trash (%1)").arg(runs->trash.size()));
  update_hint();  // the first of all readings may find no run
}

void RunListPanel::set_published(const PublishedPointer& runs) {
  published_.set_runs(runs);
}

void RunListPanel::update_hint() {
  const int shown = lists_[section()]->model()->rowCount();
  const bool searching = !search_->text().isEmpty() || !filters_[section()].tags().isEmpty();
  QString hint;
  if (shown == 0 && searching) hint = tr("Nothing here matches the search.");
  if (shown == 0 && !searching && section() == trash_section)
    hint = tr("The trash is empty. Del puts the chosen runs here.");
  const bool first_start =
      shown == 0 && !searching && section() == runs_section && model_->is_known();
  if (first_start) hint = tr("No runs yet. What you measure on this machine is listed here.");
  new_run_->setVisible(first_start);
  hint_->setText(hint);
  hint_->setVisible(!hint.isEmpty());
}

void RunListPanel::tell_choice(const QModelIndex& current) {
  if (!current.isValid()) {
    if (lists_[section()]->model()->rowCount() == 0) Q_EMIT nothing_chosen();
    return;
  }
  const QString key = current.data(RunListModel::uuid_role).toString();
  const bool is_run = current.data(RunListModel::status_role).isValid();
  if (is_run) {
    Q_EMIT run_chosen(key);
  } else {
    Q_EMIT table_chosen(key);
  }
}

void RunListPanel::choose(const QString& key) {
  const QModelIndex places[] = {model_->index_of(key), published_.index_of(key),
                                trash_.index_of(key)};
  for (int at = 0; at < section_count; ++at) {
    const QModelIndex index = filters_[at].mapFromSource(places[at]);
    if (!index.isValid()) continue;
    select(*lists_[at], index);
    return show_section(static_cast<Section>(at));
  }
}

void RunListPanel::show_section(Section section) {
  sections_->setCurrentIndex(section);
}

RunListPanel::Section RunListPanel::section() const {
  return static_cast<Section>(std::max(0, sections_->currentIndex()));
}

QString RunListPanel::chosen() const {
  return lists_[section()]->currentIndex().data(RunListModel::uuid_role).toString();
}

QStringList RunListPanel::chosen_runs() const {
  QStringList uuids;
  if (section() == published_section) return uuids;
  for (const RunEntry* entry : selected_runs())
    uuids.append(QString::fromStdString(entry->info.id.uuid));
  return uuids;
}

void RunListPanel::build_actions() {
  continue_ = add_action(this, tr("Continue run"), {}, &RunListPanel::continue_run);
  again_ = add_action(this, tr("Measure again"), {}, &RunListPanel::measure_again);
  rename_ = add_action(this, tr("Rename"), tr("F2"), &RunListPanel::rename);
  describe_ = add_action(this, tr("Tags and note"), {}, &RunListPanel::describe);
  to_trash_ = add_action(this, tr("Put in the trash"), tr("Del"), &RunListPanel::put_in_trash);
  back_ = add_action(this, tr("Put back"), {}, &RunListPanel::put_back);
  remove_ = add_action(this, tr("Delete for good…"), {}, &RunListPanel::ask_to_remove);
  empty_ = add_action(this, tr("Empty the trash…"), {}, &RunListPanel::ask_to_empty);
  copy_ = add_action(this, tr("Copy into my runs"), {}, &RunListPanel::copy_published);
  compare_ = add_action(this, tr("Compare the two"), tr("Ctrl+D"), &RunListPanel::compare_chosen);
  add_action(this, tr("More"), tr("Ctrl+M"), &RunListPanel::show_more);
}

void RunListPanel::show_more() {
  QMenu* menu = make_menu();
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->popup(more_->mapToGlobal(QPoint(0, more_->height())));
}

QMenu* RunListPanel::make_menu() {
  auto* menu = new QMenu(this);
  fill(menu);
  return menu;
}

void RunListPanel::fill(QMenu* menu) {
  const std::vector<const RunEntry*> selected = selected_runs();
  const bool some = !selected.empty();
  if (section() == published_section) {
    if (published_.run(current_source())) menu->addAction(copy_);
  } else if (some) {
    const RunInfo& info = current_run() ? current_run()->info : selected.front()->info;
    if (section() == runs_section && selected.size() == 1) {
      const bool resumable =
          info.status == RunStatus::interrupted || info.status == RunStatus::cancelled;
      if (resumable) menu->addAction(continue_);
      if (info.status != RunStatus::running && !info.damaged) menu->addAction(again_);
      add_compare_menu(menu, info);
      menu->addSeparator();
      menu->addAction(rename_);
    }
    if (selected.size() == 2) menu->addAction(compare_);
    menu->addAction(describe_);
    add_tag_menu(menu, selected);
    menu->addSeparator();
    menu->addAction(selected.size() == 1
                        ? tr("Export run to a file…\tCtrl+E")
                        : tr("Export %1 runs to a file…\tCtrl+E").arg(selected.size()),
                    this, &RunListPanel::export_chosen);
  }
  menu->addAction(tr("Import runs from a file…"), this, &RunListPanel::import_runs);
  menu->addSeparator();
  if (section() == runs_section && some) {
    menu->addAction(to_trash_);
  }
  if (section() == trash_section) {
    if (some) {
      menu->addAction(back_);
      menu->addAction(remove_);
    }
    if (trash_.rowCount() > 0) menu->addAction(empty_);
  }
}

QModelIndex RunListPanel::current_source() const {
  return filters_[section()].mapToSource(lists_[section()]->currentIndex());
}

const RunEntry* RunListPanel::current_run() const {
  if (section() == published_section) return nullptr;
  const RunListModel& model = section() == trash_section ? trash_ : *model_;
  return model.entry(chosen());
}

std::vector<const RunEntry*> RunListPanel::selected_runs() const {
  std::vector<const RunEntry*> runs;
  if (section() == published_section) return runs;
  const RunListModel& model = section() == trash_section ? trash_ : *model_;
  QModelIndexList rows = lists_[section()]->selectionModel()->selectedIndexes();
  std::sort(rows.begin(), rows.end());
  if (const QModelIndex current = lists_[section()]->currentIndex();
      rows.isEmpty() && current.isValid()) {
    rows.append(current);
  }
  for (const QModelIndex& row : rows) {
    if (const RunEntry* entry = model.entry(row.data(RunListModel::uuid_role).toString()))
      runs.push_back(entry);
  }
  return runs;
}

QStringList RunListPanel::idle_runs() const {
  QStringList uuids;
  for (const RunEntry* entry : selected_runs())
    if (entry->info.status != RunStatus::running) uuids.append(words(entry->info.id.uuid));
  return uuids;
}

void RunListPanel::rename() {
  if (section() == runs_section && list()->currentIndex().isValid())
    list()->edit(list()->currentIndex());
}

void RunListPanel::describe() {
  if (notes_->isVisible()) notes_->tags()->setFocus(Qt::ShortcutFocusReason);
}

void RunListPanel::add_tag_menu(QMenu* menu, const std::vector<const RunEntry*>& runs) {
  const QStringList known = model_->tags();
  const QStringList common = common_tags(runs);
  QMenu* tags = menu->addMenu(tr("Tag as"));
  tags->setEnabled(!known.isEmpty());
  for (const QString& tag : known) {
    QAction* turn = tags->addAction(tag);
    turn->setCheckable(true);
    turn->setChecked(common.contains(tag));
    connect(turn, &QAction::toggled, this, [this, tag, uuids = chosen_runs()](bool on) {
      Q_EMIT tags_wanted(uuids, on ? QStringList{tag} : QStringList(),
                         on ? QStringList() : QStringList{tag});
    });
  }
}

void RunListPanel::put_in_trash() {
  if (section() == trash_section) return ask_to_remove();
  const QStringList idle = idle_runs();
  // Of nothing but live runs the store says why they stay.
  const QStringList uuids = idle.isEmpty() ? chosen_runs() : idle;
  if (section() == runs_section && !uuids.isEmpty()) Q_EMIT trash_wanted(uuids);
}

void RunListPanel::put_back() {
  const QStringList uuids = chosen_runs();
  if (section() == trash_section && !uuids.isEmpty()) Q_EMIT restore_wanted(uuids);
}

void RunListPanel::ask(const QString& title, const QString& question, const QString& yes,
                       std::function<void()> act) {
  auto* box = new QMessageBox(QMessageBox::Question, title, question, QMessageBox::Cancel, this);
  box->setObjectName(QStringLiteral("remove_question"));
  QPushButton* button = box->addButton(yes, QMessageBox::DestructiveRole);
  button->setObjectName(QStringLiteral("remove_for_good"));
  box->setAttribute(Qt::WA_DeleteOnClose);
  connect(button, &QPushButton::clicked, this, std::move(act));
  box->open();
}

void RunListPanel::ask_to_remove() {
  const QStringList uuids = chosen_runs();
  if (section() != trash_section || uuids.isEmpty()) return;
  ask(tr("Delete for good"),
      tr("Delete %1 for good, with all that was measured? This cannot be undone; export first what "
         "is to be kept.")
          .arg(counted_runs(uuids.size())),
      tr("Delete for good"), [this, uuids] { Q_EMIT remove_wanted(uuids); });
}

void RunListPanel::ask_to_empty() {
  const int runs = trash_.rowCount();
  if (section() != trash_section || runs == 0) return;
  ask(tr("Empty the trash"),
      tr("Delete the %1 in the trash for good, with all that was measured? This cannot be undone.")
          .arg(counted_runs(runs)),
      tr("Empty the trash"), [this] { Q_EMIT empty_trash_wanted(); });
}

void RunListPanel::continue_run() {
  const RunEntry* run = current_run();
  if (section() != runs_section || !run) return;
  if (run->info.status == RunStatus::interrupted || run->info.status == RunStatus::cancelled)
    Q_EMIT resume_asked(chosen());
}

void RunListPanel::measure_again() {
  const RunEntry* run = current_run();
  if (section() == runs_section && run && run->info.status != RunStatus::running &&
      !run->info.damaged) {
    Q_EMIT again_asked(chosen());
  }
}

void RunListPanel::copy_published() {
  if (section() != published_section) return;
  if (const PublishedRun* run = published_.run(current_source()))
    Q_EMIT import_file_wanted(run->file);
}

void RunListPanel::compare_chosen() {
  const std::vector<const RunEntry*> runs = selected_runs();
  if (runs.size() != 2) return;
  // The list has the newer one on top: it is what a person wants to judge.
  Q_EMIT compare_wanted(words(runs[1]->info.id.uuid), words(runs[0]->info.id.uuid));
}

void RunListPanel::add_compare_menu(QMenu* menu, const RunInfo& chosen) {
  constexpr int most = 12;
  QMenu* others = menu->addMenu(tr("Compare with"));
  // Runs of the same sweep share cells; only they are worth a line here.
  for (int row = 0; row < model_->rowCount() && others->actions().size() < most; ++row) {
    const RunEntry* entry =
        model_->entry(model_->index(row).data(RunListModel::uuid_role).toString());
    if (!entry || entry->info.id == chosen.id ||
        entry->info.start.sweep_name != chosen.start.sweep_name) {
      continue;
    }
    others->addAction(model_->index(row).data().toString(), this,
                      [this, a = words(entry->info.id.uuid), b = words(chosen.id.uuid)] {
                        Q_EMIT compare_wanted(a, b);
                      });
  }
  others->setEnabled(!others->isEmpty());
  if (others->isEmpty())
    others->setTitle(tr("Compare with (no other run of this sweep; or choose two runs: Ctrl+D)"));
}

void RunListPanel::export_chosen() {
  if (const QStringList uuids = chosen_runs(); !uuids.isEmpty()) Q_EMIT export_asked(uuids);
}

}  // namespace attnscope::gui
