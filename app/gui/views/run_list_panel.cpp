// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_list_panel.h"

#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/views/run_item_delegate.h"
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
      compare_button_(new QPushButton(tr("Compare the two"))),
      hint_(new QLabel) {
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
  tags_->set_tip(tr("Show only runs tagged %1"));
  tags_->setAccessibleName(tr("Tags"));

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  layout->addWidget(sections_);
  layout->addWidget(build_head());
  layout->addWidget(tags_);
  layout->addWidget(hint_);
  layout->addWidget(stack_, 1);
  layout->addWidget(compare_button_);
  build_actions();
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
    offer_comparison();
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
  connect(model_, &QAbstractItemModel::rowsInserted, this, read_tags);
  connect(model_, &QAbstractItemModel::rowsRemoved, this, read_tags);
  update_hint();
}

void RunListPanel::offer_comparison() {
  compare_button_->setVisible(section() == runs_section && selected_runs().size() == 2);
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
          &RunListPanel::offer_comparison);
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
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(search_, 1);
  layout->addWidget(more_);
  return head;
}

void RunListPanel::set_trash(const RunListPointer& runs) {
  trash_.set_entries(runs->trash);
  sections_->setTabText(
      trash_section, runs->trash.empty() ? tr("Trash") : tr("Trash (%1)").arg(runs->trash.size()));
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

}  // namespace attnscope::gui
