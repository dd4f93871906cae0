// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_list_panel.h"

#include <QAction>
#include <QApplication>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/session/store_reader.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/run_notes.h"
#include "app/gui/views/theme.h"
#include "views/ui_run_list_panel.h"

namespace attnscope::gui {
namespace {

constexpr int row_margin = 8, dot = 8;  // px, in a row of the list

QColor status_color(const QModelIndex& index, const QPalette& palette) {
  for (const int role : {RunListModel::damaged_role, RunListModel::nothing_role}) {
    if (index.data(role).toBool()) return error_text(palette);
  }
  const QVariant status = index.data(RunListModel::status_role);
  if (!status.isValid()) return faint_text(palette);
  switch (static_cast<RunStatus>(status.toInt())) {
    case RunStatus::running:
      return palette.color(QPalette::Link);
    case RunStatus::done:
      return good_text(palette);
    case RunStatus::cancelled:
      return faint_text(palette);
    case RunStatus::interrupted:
      return error_text(palette);
  }
  return faint_text(palette);
}

/// A dot for a run, a square for a paper's table.
void draw_mark(QPainter* painter, const QRect& place, const QColor& color, bool is_run) {
  painter->setPen(Qt::NoPen);
  painter->setBrush(color);
  if (is_run) {
    painter->drawEllipse(place);
  } else {
    painter->drawRect(place);
  }
}

constexpr int longest_name = 200;  // when typed

/// A run in the list: its name and tags, a line about it, a dot for its status and a bar while it
/// is live; a paper's table has a square instead of the dot. The name is edited in place.
class RunItemDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const override {
    QWidget* editor = QStyledItemDelegate::createEditor(parent, option, index);
    if (auto* line = qobject_cast<QLineEdit*>(editor)) line->setMaxLength(longest_name);
    return editor;
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
    const int lines = QFontMetrics(option.font).height() +
                      QFontMetrics(sized(option.font, TextSize::small)).height();
    return {120, lines + 2 * row_margin + 6};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyleOptionViewItem ground = option;
    initStyleOption(&ground, index);
    ground.text.clear();
    QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &ground, painter, option.widget);

    const bool selected = option.state.testFlag(QStyle::State_Selected);
    const QPalette& palette = option.palette;
    const QColor text = palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
    const QRect inner = option.rect.adjusted(row_margin, row_margin, -row_margin, -row_margin);
    const QRect alongside = inner.adjusted(dot + row_margin, 0, 0, 0);

    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QFontMetrics title_metrics(option.font);
    draw_mark(painter,
              QRect(inner.left(), inner.top() + (title_metrics.height() - dot) / 2, dot, dot),
              selected ? text : status_color(index, palette),
              index.data(RunListModel::status_role).isValid());

    painter->setPen(text);
    painter->setFont(option.font);
    const QRect title =
        QRect(alongside.topLeft(), QSize(alongside.width(), title_metrics.height()));
    const QString name =
        title_metrics.elidedText(index.data().toString(), Qt::ElideRight, title.width());
    painter->drawText(title, Qt::AlignLeft | Qt::AlignVCenter, name);

    const QFont small = sized(option.font, TextSize::small);
    const QFontMetrics small_metrics(small);
    painter->setFont(small);
    painter->setPen(selected ? text : faint_text(palette));
    // Tags take the space after the name.
    const int used = title_metrics.horizontalAdvance(name) + row_margin;
    const QRect tags = title.adjusted(used, 0, 0, 0);
    if (tags.width() > small_metrics.averageCharWidth() * 3) {
      painter->drawText(tags, Qt::AlignRight | Qt::AlignVCenter,
                        small_metrics.elidedText(index.data(RunListModel::tags_role).toString(),
                                                 Qt::ElideRight, tags.width()));
    }
    const QRect detail(alongside.left(), title.bottom() + 3, alongside.width(),
                       small_metrics.height());
    painter->drawText(detail, Qt::AlignLeft | Qt::AlignVCenter,
                      small_metrics.elidedText(index.data(RunListModel::detail_role).toString(),
                                               Qt::ElideRight, detail.width()));

    const QVariant status = index.data(RunListModel::status_role);
    if (status.isValid() && static_cast<RunStatus>(status.toInt()) == RunStatus::running) {
      const QRectF groove(alongside.left(), option.rect.bottom() - 5, alongside.width(), 3);
      painter->setPen(Qt::NoPen);
      painter->setBrush(hairline(palette));
      painter->drawRoundedRect(groove, 1.5, 1.5);
      const double fraction = index.data(RunListModel::fraction_role).toDouble();
      painter->setBrush(selected ? text : palette.color(QPalette::Link));
      painter->drawRoundedRect(QRectF(groove.left(), groove.top(), groove.width() * fraction, 3),
                               1.5, 1.5);
    }
    painter->restore();
  }

  void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                            const QModelIndex&) const override {
    const int height = editor->sizeHint().height();
    const QRect inner = option.rect.adjusted(2 * row_margin + dot - 4, 0, -row_margin, 0);
    editor->setGeometry(inner.left(), inner.top() + 4, inner.width(), height);
  }
};

/// Selects only this row, whichever keys are held.
void select(const QListView& list, const QModelIndex& index) {
  list.selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect);
}

}  // namespace

RunListPanel::RunListPanel(RunListModel* model, const StoreThread& store)
    : store_(store), model_(model), ui_(std::make_unique<Ui::RunListPanel>()) {
  ui_->setupUi(this);
  ui_->run_list_hint->setForegroundRole(QPalette::PlaceholderText);
  ui_->notes->set_store(store);
  model_->set_editable(true);
  published_.set_published({});
  lists_[runs_section] = ui_->run_list;
  lists_[published_section] = ui_->published_list;
  lists_[trash_section] = ui_->trash_list;
  set_up_list(runs_section, model);
  set_up_list(published_section, &published_);
  set_up_list(trash_section, &trash_);
  const QString names[] = {tr("Runs"), tr("Published"), tr("Trash")};
  const QString tips[] = {tr("Your own runs (Alt+1)"),
                          tr("Results of papers, and runs that ship with AttnScope (Alt+2)"),
                          tr("Runs moved to the trash (Alt+3)")};
  for (int at = 0; at < section_count; ++at) {
    ui_->run_sections->addTab(names[at]);
    ui_->run_sections->setTabToolTip(at, tips[at]);
    auto* go = new QAction(names[at], this);
    go->setShortcut(QKeySequence(QStringLiteral("Alt+%1").arg(at + 1)));
    connect(go, &QAction::triggered, this, [this, at] {
      show_section(static_cast<Section>(at));
      lists_[at]->setFocus(Qt::ShortcutFocusReason);
    });
    addAction(go);
  }
  connect(ui_->run_more, &QToolButton::clicked, this, &RunListPanel::show_more);
  build_actions();
  connect(ui_->first_run, &QPushButton::clicked, this, &RunListPanel::new_run_wanted);
  ui_->compare_the_two->setToolTip(
      tr("Compare the newer run with the older (%1)")
          .arg(compare_->shortcut().toString(QKeySequence::NativeText)));
  connect(ui_->compare_the_two, &QPushButton::clicked, compare_, &QAction::trigger);

  connect(ui_->run_sections, &QTabBar::currentChanged, this, [this](int at) {
    ui_->stack->setCurrentIndex(at);
    fill_tags();
    QListView* front = lists_[at];
    update_hint();
    show_selected();
    const QModelIndex before = front->currentIndex();
    // A list that gets the focus makes its first row current, but does not select it.
    if (front->selectionModel()->selectedIndexes().isEmpty())
      select(*front, before.isValid() ? before : front->model()->index(0, 0));
    if (front->currentIndex() == before) report_choice(before);
  });
  connect(ui_->run_search, &QLineEdit::textChanged, this, [this](const QString& text) {
    for (RunFilter& filter : filters_) filter.set_search(text);
    update_hint();
  });
  connect(model_, &RunListModel::rename_requested, ui_->notes, &RunNotes::rename);
  for (const auto changed : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
    for (RunFilter& filter : filters_) connect(&filter, changed, this, &RunListPanel::update_hint);
  }
  connect(model_, &QAbstractItemModel::dataChanged, this, &RunListPanel::fill_tags);
  connect(model_, &QAbstractItemModel::rowsInserted, this, &RunListPanel::fill_tags);
  connect(model_, &QAbstractItemModel::rowsRemoved, this, &RunListPanel::fill_tags);
  for (RunFilter& filter : filters_)
    connect(&filter, &QAbstractItemModel::dataChanged, this, &RunListPanel::show_selected);
  update_hint();
  update_actions();
}

void RunListPanel::show_selected() {
  const std::vector<const RunEntry*> runs = selected_runs();
  ui_->compare_the_two->setVisible(section() == runs_section && runs.size() == 2);
  ui_->notes->show_runs(runs);
  update_actions();
}

RunNotes* RunListPanel::notes() const {
  return ui_->notes;
}

QLineEdit* RunListPanel::search() const {
  return ui_->run_search;
}

QTabBar* RunListPanel::sections() const {
  return ui_->run_sections;
}

QToolButton* RunListPanel::more_button() const {
  return ui_->run_more;
}

RunListPanel::~RunListPanel() {
  // The models are destroyed before the lists that show them; their signals must be ignored.
  for (const QListView* each : lists_) disconnect(each->selectionModel(), nullptr, this, nullptr);
}

void RunListPanel::set_up_list(Section section, QAbstractItemModel* model) {
  filters_[section].setSourceModel(model);
  QListView* list = lists_[section];
  list->setModel(&filters_[section]);
  list->setItemDelegate(new RunItemDelegate(list));
  list->setFrameShape(QFrame::NoFrame);
  list->setUniformItemSizes(true);
  list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list->setContextMenuPolicy(Qt::CustomContextMenu);
  list->setSelectionMode(section == published_section ? QAbstractItemView::SingleSelection
                                                      : QAbstractItemView::ExtendedSelection);
  list->setEditTriggers(QAbstractItemView::NoEditTriggers);  // only by F2 or the menu
  connect(list->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this, section](const QModelIndex& current) {
            if (this->section() == section) report_choice(current);
          });
  connect(list->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &RunListPanel::show_selected);
  connect(list, &QWidget::customContextMenuRequested, this, [this, list](QPoint position) {
    QMenu* menu = make_menu();
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(list->viewport()->mapToGlobal(position));
  });
}

// Tags as checkable buttons, wrapped; many scroll.
void RunListPanel::fill_tags() {
  const QStringList tags = model_->tags();
  ui_->tags->setVisible(section() == runs_section && !tags.isEmpty());
  if (tags == listed_tags_) return;
  listed_tags_ = tags;
  const QStringList before = filters_[runs_section].tags();
  auto* buttons = new QWidget;
  buttons->setLayout(new FlowLayout);
  QWidget* in_front = ui_->run_more;
  for (const QString& tag : tags) {
    auto* button = new QToolButton;
    constexpr int longest = 24;
    button->setText(shortened(tag, longest).replace(QLatin1Char('&'), QLatin1String("&&")));
    button->setObjectName(QStringLiteral("tag_") + tag);
    button->setCheckable(true);
    button->setChecked(before.contains(tag));
    button->setFocusPolicy(Qt::StrongFocus);
    button->setAccessibleName(tr("Tag %1").arg(tag));
    button->setToolTip(tr("Show only runs tagged %1").arg(tag));
    buttons->layout()->addWidget(button);
    button->show();  // also while the panel is hidden: its layout omits hidden widgets
    connect(button, &QToolButton::toggled, this, [this, tag](bool on) {
      QStringList chosen = filters_[runs_section].tags();
      chosen.removeAll(tag);
      if (on) chosen.append(tag);
      filters_[runs_section].set_tags(chosen);
      update_hint();
    });
  }
  ui_->tags->setWidget(buttons);
  for (auto* button : buttons->findChildren<QToolButton*>()) {
    setTabOrder(in_front, button);
    in_front = button;
  }
  QStringList still = before;
  still.removeIf([&](const QString& tag) { return !tags.contains(tag); });
  if (still != before) filters_[runs_section].set_tags(still);
  fit_tags();
}

void RunListPanel::fit_tags() {
  if (!ui_->tags->widget()) return;
  constexpr int most_lines = 4;
  const QSize button(0, ui_->tags->widget()->layout()->sizeHint().height());
  const int wanted = ui_->tags->widget()->layout()->heightForWidth(
      width() - ui_->tags->verticalScrollBar()->sizeHint().width());
  ui_->tags->setFixedHeight(std::min(wanted, most_lines * (button.height() + space::gap)));
}

void RunListPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit_tags();
}

void RunListPanel::set_trash(const RunListPointer& runs) {
  trash_.set_entries(runs->trash);
  ui_->run_sections->setTabText(
      trash_section, runs->trash.empty() ? tr("Trash") : tr("Trash (%1)").arg(runs->trash.size()));
  update_hint();  // the first read may find no run
  update_actions();
}

void RunListPanel::set_published(const PublishedPointer& runs) {
  published_.set_published(*runs);
}

void RunListPanel::update_hint() {
  const int shown = lists_[section()]->model()->rowCount();
  const bool searching =
      !ui_->run_search->text().isEmpty() || !filters_[section()].tags().isEmpty();
  QString hint;
  if (shown == 0 && searching) hint = tr("No entry matches the search.");
  if (shown == 0 && !searching && section() == trash_section)
    hint = tr("The trash is empty. Del moves the selected runs here.");
  const bool first_start =
      shown == 0 && !searching && section() == runs_section && model_->is_known();
  if (first_start) hint = tr("No runs yet. The runs that you measure appear here.");
  ui_->first_run->setVisible(first_start);
  ui_->run_list_hint->setText(hint);
  ui_->run_list_hint->setVisible(!hint.isEmpty());
}

void RunListPanel::report_choice(const QModelIndex& current) {
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
  ui_->run_sections->setCurrentIndex(section);
}

RunListPanel::Section RunListPanel::section() const {
  return static_cast<Section>(std::max(0, ui_->run_sections->currentIndex()));
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
  const auto emitting = [this](void (RunListPanel::*requested)(const QString&)) {
    return std::function<void()>([this, requested] { Q_EMIT(this->*requested)(chosen()); });
  };
  continue_ = add_action(this, tr("Continue run"), {}, emitting(&RunListPanel::resume_requested));
  again_ = add_action(this, tr("Measure again"), {}, emitting(&RunListPanel::again_requested));
  rename_ = add_action(this, tr("Rename"), tr("F2"), &RunListPanel::rename);
  describe_ = add_action(this, tr("Tags and note"), {}, &RunListPanel::describe);
  to_trash_ = add_action(this, tr("Move to the trash"), tr("Del"), &RunListPanel::put_in_trash);
  back_ = add_action(this, tr("Restore"), {}, &RunListPanel::put_back);
  remove_ = add_action(this, tr("Delete permanently…"), {}, &RunListPanel::ask_to_remove);
  empty_ = add_action(this, tr("Empty the trash…"), {}, &RunListPanel::ask_to_empty);
  copy_ = add_action(this, tr("Copy into my runs"), {}, &RunListPanel::copy_published);
  compare_ = add_action(this, tr("Compare the two"), tr("Ctrl+D"), &RunListPanel::compare_chosen);
  add_action(this, tr("More"), tr("Ctrl+M"), &RunListPanel::show_more);
}

void RunListPanel::show_more() {
  QMenu* menu = make_menu();
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->popup(ui_->run_more->mapToGlobal(QPoint(0, ui_->run_more->height())));
}

QMenu* RunListPanel::make_menu() {
  auto* menu = new QMenu(this);
  fill(menu);
  return menu;
}

/// The keys are enabled as the menu entries are.
void RunListPanel::update_actions() {
  const std::vector<const RunEntry*> selected = selected_runs();
  const std::size_t some = selected.size();
  const bool own = section() == runs_section, trash = section() == trash_section;
  const RunEntry* current = own && some == 1 ? selected.front() : nullptr;
  const RunStatus status = current ? current->info.status : RunStatus::running;
  continue_->setEnabled(status == RunStatus::interrupted || status == RunStatus::cancelled);
  again_->setEnabled(status != RunStatus::running && !current->info.damaged);
  rename_->setEnabled(current != nullptr);
  describe_->setEnabled(some > 0);
  to_trash_->setEnabled(some > 0);  // in the trash: removes permanently
  back_->setEnabled(trash && some > 0);
  remove_->setEnabled(trash && some > 0);
  empty_->setEnabled(trash && trash_.rowCount() > 0);
  copy_->setEnabled(section() == published_section && published_.entry(chosen()));
  compare_->setEnabled(some == 2);
}

void RunListPanel::fill(QMenu* menu) {
  const std::vector<const RunEntry*> selected = selected_runs();
  const auto offer = [menu](std::initializer_list<QAction*> actions) {
    for (QAction* action : actions) {
      if (action->isEnabled()) menu->addAction(action);
    }
  };
  offer({copy_, continue_, again_});
  const RunEntry* single = selected.size() == 1 ? selected.front() : published_.entry(chosen());
  if (single && section() != trash_section) add_compare_menu(menu, single->info);
  menu->addSeparator();
  offer({rename_, compare_, describe_});
  if (!selected.empty()) {
    menu->addSeparator();
    menu->addAction(selected.size() == 1
                        ? tr("Export run to a file…\tCtrl+E")
                        : tr("Export %1 runs to a file…\tCtrl+E").arg(selected.size()),
                    this, [this] {
                      if (const QStringList uuids = chosen_runs(); !uuids.isEmpty())
                        Q_EMIT export_requested(uuids);
                    });
  }
  menu->addAction(tr("Import runs from a file…"), this, &RunListPanel::import_runs);
  menu->addSeparator();
  if (section() == runs_section) offer({to_trash_});
  offer({back_, remove_, empty_});
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

void RunListPanel::rename() {
  list()->edit(list()->currentIndex());
}

void RunListPanel::describe() {
  ui_->notes->tags()->setFocus(Qt::ShortcutFocusReason);
}

void RunListPanel::put_in_trash() {
  if (section() == trash_section) return ask_to_remove();
  QStringList idle;
  for (const RunEntry* entry : selected_runs()) {
    if (entry->info.status != RunStatus::running) idle.append(qstring(entry->info.id.uuid));
  }
  // If all are live runs, the store reports why they stay.
  const QStringList uuids = idle.isEmpty() ? chosen_runs() : idle;
  if (!uuids.isEmpty()) store_.post(&StoreReader::put_in_trash, uuids);
}

void RunListPanel::put_back() {
  store_.post(&StoreReader::take_from_trash, chosen_runs());
}

void RunListPanel::confirm(const QString& title, const QString& question, const QString& yes,
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
  confirm(
      tr("Delete permanently"),
      tr("Delete %1 permanently, with all measurements? This cannot be undone; first export the "
         "runs that you want to keep.")
          .arg(counted_runs(uuids.size())),
      tr("Delete permanently"), [this, uuids] { store_.post(&StoreReader::remove_runs, uuids); });
}

void RunListPanel::ask_to_empty() {
  const int runs = trash_.rowCount();
  confirm(
      tr("Empty the trash"),
      tr("Delete the %1 in the trash permanently, with all measurements? This cannot be undone.")
          .arg(counted_runs(runs)),
      tr("Empty the trash"), [this] { store_.post(&StoreReader::empty_trash); });
}

void RunListPanel::copy_published() {
  store_.post(&StoreReader::import_file, published_.listed(chosen())->file);
}

void RunListPanel::compare_chosen() {
  const std::vector<const RunEntry*> runs = selected_runs();
  // The list has the newer run on top: it becomes run B.
  store_.post(&StoreReader::compare_runs, qstring(runs[1]->info.id.uuid),
              qstring(runs[0]->info.id.uuid));
}

void RunListPanel::add_compare_menu(QMenu* menu, const RunInfo& chosen) {
  constexpr int most = 12, longest = 80;
  QMenu* others = menu->addMenu(tr("Compare with"));
  // Only runs of the same sweep share cells, so only these are listed.
  for (const RunListModel* model : {model_, &published_}) {
    for (int row = 0; row < model->rowCount() && others->actions().size() < most; ++row) {
      const QModelIndex index = model->index(row);
      const RunEntry* entry = model->entry(index.data(RunListModel::uuid_role).toString());
      if (!entry || entry->info.id == chosen.id ||
          entry->info.start.sweep_name != chosen.start.sweep_name) {
        continue;
      }
      const QString title = shortened(index.data().toString(), longest);
      others->addAction(
          model == model_
              ? title
              : tr("%1, published, on %2").arg(title, qstring(entry->info.start.device)),
          this, [this, a = qstring(entry->info.id.uuid), b = qstring(chosen.id.uuid)] {
            store_.post(&StoreReader::compare_runs, a, b);
          });
    }
  }
  others->setEnabled(!others->isEmpty());
  if (others->isEmpty())
    others->setTitle(tr("Compare with (no other run of this sweep; or choose two runs: Ctrl+D)"));
}

}  // namespace attnscope::gui
