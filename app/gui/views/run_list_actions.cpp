// SPDX-License-Identifier: GPL-3.0-or-later
//
// What can be done with the runs in the list, by menu and by key.
#include <QAction>
#include <QItemSelectionModel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/describe_run_dialog.h"
#include "app/gui/views/run_list_panel.h"

namespace attnscope::gui {
namespace {

QStringList tags_of(const RunEntry& entry) {
  QStringList tags;
  for (const std::string& word : tag_words(entry.info.tag)) tags.append(words(word));
  return tags;
}

}  // namespace

QAction* RunListPanel::add_action(const QString& text, const QString& shortcut,
                                  void (RunListPanel::*act)()) {
  auto* action = new QAction(text, this);
  action->setShortcut(QKeySequence(shortcut));
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(action, &QAction::triggered, this, act);
  addAction(action);
  return action;
}

void RunListPanel::build_actions() {
  continue_ = add_action(tr("Continue run"), tr("Ctrl+Shift+R"), &RunListPanel::continue_run);
  again_ = add_action(tr("Measure again"), tr("Ctrl+Shift+A"), &RunListPanel::measure_again);
  rename_ = add_action(tr("Rename"), tr("F2"), &RunListPanel::rename);
  describe_ = add_action(tr("Name, tags and note…"), tr("Ctrl+Shift+N"), &RunListPanel::describe);
  to_trash_ = add_action(tr("Put in the trash"), tr("Del"), &RunListPanel::put_in_trash);
  back_ = add_action(tr("Put back"), tr("Ctrl+B"), &RunListPanel::put_back);
  remove_ = add_action(tr("Delete for good…"), tr("Shift+Del"), &RunListPanel::ask_to_remove);
  empty_ = add_action(tr("Empty the trash…"), tr("Ctrl+Shift+Del"), &RunListPanel::ask_to_empty);
  copy_ = add_action(tr("Copy into my runs"), tr("Ctrl+Shift+I"), &RunListPanel::copy_published);
  compare_ = add_action(tr("Compare the two"), tr("Ctrl+D"), &RunListPanel::compare_chosen);
  add_action(tr("More"), tr("Ctrl+M"), &RunListPanel::show_more);
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
    describe_->setText(selected.size() == 1 ? tr("Name, tags and note…") : tr("Tags…"));
    menu->addAction(describe_);
    menu->addSeparator();
    menu->addAction(selected.size() == 1
                        ? tr("Export run to a file…\tCtrl+E")
                        : tr("Export %1 runs to a file…\tCtrl+E").arg(selected.size()),
                    this, &RunListPanel::export_chosen);
  }
  menu->addAction(tr("Import runs from a file…\tCtrl+I"), this, &RunListPanel::import_runs);
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
  const std::vector<const RunEntry*> runs = selected_runs();
  if (runs.empty()) return;
  if (runs.size() > 1) return describe_several(runs);
  const RunInfo& info = runs.front()->info;
  const OwnWords before{
      .name = words(info.name), .note = words(info.note), .tags = tags_of(*runs.front())};
  auto* dialog = new DescribeRunDialog(1, before, model_->tags(), this);
  dialog->name()->setPlaceholderText(words(info.start.sweep_name));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this, [this, dialog, uuid = words(info.id.uuid)] {
    const OwnWords now = dialog->words();
    Q_EMIT words_wanted(uuid, now.name, now.tags, now.note);
  });
  dialog->open();
}

void RunListPanel::describe_several(const std::vector<const RunEntry*>& runs) {
  QStringList common = tags_of(*runs.front());
  QStringList uuids;
  for (const RunEntry* entry : runs) {
    uuids.append(words(entry->info.id.uuid));
    const QStringList own = tags_of(*entry);
    common.removeIf([&](const QString& tag) { return !own.contains(tag); });
  }
  auto* dialog =
      new DescribeRunDialog(static_cast<int>(runs.size()), {.name = {}, .note = {}, .tags = common},
                            model_->tags(), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this, [this, dialog, uuids, common] {
    const QStringList now = dialog->words().tags;
    QStringList removed = common;
    removed.removeIf([&](const QString& tag) { return now.contains(tag); });
    Q_EMIT tags_wanted(uuids, now, removed);
  });
  dialog->open();
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
