// SPDX-License-Identifier: GPL-3.0-or-later
//
// What page Patterns shows; patterns_page_files.cpp has what it does with files.
#include "app/gui/views/patterns_page.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QSlider>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/models/table_text.h"
#include "app/gui/session/text.h"
#include "app/gui/views/kept.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/pattern_costs.h"
#include "app/gui/views/pattern_item_box.h"
#include "app/gui/views/pattern_panel.h"
#include "app/gui/views/side_area.h"

namespace attnscope::gui {

PatternsPage::PatternsPage(std::shared_ptr<PatternEditor> editor, QWidget* parent)
    : Page(parent),
      goes_on_(editor != nullptr),
      owner_(editor ? std::move(editor) : std::make_shared<PatternEditor>()),
      editor_(*owner_),
      panel_(new PatternPanel(editor_)),
      masks_(new PatternMasks),
      costs_(new PatternCosts),
      benchmark_(new QPushButton(tr("&Benchmark this pattern…"))),
      benchmark_note_(new QLabel),
      messages_(new MessageBar) {
  auto* middle = new QWidget;
  auto* middle_layout = new QVBoxLayout(middle);
  middle_layout->setContentsMargins(8, 0, 8, 0);
  middle_layout->setSpacing(6);
  middle_layout->addWidget(messages_);
  middle_layout->addWidget(masks_, 1);
  auto* split = new QSplitter(Qt::Horizontal);
  split->setObjectName(QStringLiteral("patterns_split"));
  split->setChildrenCollapsible(false);
  split->addWidget(panel_);
  split->addWidget(middle);
  split->addWidget(new SideArea(build_right(), tr("Costs")));
  split->setSizes({270, 580, 310});  // whatever the size of the text: the mask needs the room
  split->setStretchFactor(0, 0);
  split->setStretchFactor(1, 1);
  split->setStretchFactor(2, 0);
  keep_sizes(*split);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 8, 12, 8);
  layout->addWidget(split);

  // They reach the whole page, not their own part alone.
  addActions(panel_->actions());
  addActions(masks_->actions());
  add_action(tr("Save the pattern"), tr("Ctrl+S"), &PatternsPage::save);
  add_action(tr("Save the pattern as…"), tr("Ctrl+Shift+S"), &PatternsPage::save_as);
  connect(&editor_, &PatternEditor::changed, this, &PatternsPage::refresh);
  connect(panel_, &PatternPanel::open_asked, this, &PatternsPage::ask_for_file);
  connect(panel_, &PatternPanel::file_asked, this,
          [this](const QString& file) { (void)open_file(file); });
  connect(panel_, &PatternPanel::save_asked, this, &PatternsPage::save);
  connect(panel_, &PatternPanel::save_as_asked, this, &PatternsPage::save_as);
  connect(masks_, &PatternMasks::partner_chosen, this, &PatternsPage::choose_partner);
  connect(panel_->item_box(), &PatternItemBox::heads_changed, this, &PatternsPage::refresh);
  connect(costs_, &PatternCosts::changed, this, &PatternsPage::refresh_benchmark);
  if (!goes_on_) choose(QStringLiteral("sparse"));
  refresh();
}

PatternsPage::~PatternsPage() {
  // A field that is being edited ends its edit when it loses the focus: while the editor is there.
  QWidget* focused = QApplication::focusWidget();
  if (focused && isAncestorOf(focused)) focused->clearFocus();
}

QWidget* PatternsPage::build_right() {
  benchmark_->setObjectName(QStringLiteral("benchmark"));
  benchmark_note_->setObjectName(QStringLiteral("benchmark_note"));
  benchmark_note_->setWordWrap(true);
  benchmark_note_->setTextFormat(Qt::PlainText);
  connect(benchmark_, &QPushButton::clicked, this, &PatternsPage::run);
  auto* right = new QWidget;
  auto* layout = new QVBoxLayout(right);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  costs_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  layout->addWidget(costs_);
  layout->addWidget(benchmark_);
  layout->addWidget(benchmark_note_);
  layout->addStretch(1);
  return right;
}

BenchmarkWish PatternsPage::wish() const {
  return {.source = {editor_.pattern(), editor_.window()},
          .item = editor_.item(),
          .heads = panel_->item_box()->heads(),
          .head_dim = panel_->item_box()->head_dim(),
          .implementations = costs_->implementations()};
}

void PatternsPage::add_action(const QString& text, const QString& keys,
                              void (PatternsPage::*act)()) {
  auto* action = new QAction(text, this);
  action->setShortcut(QKeySequence(keys));
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(action, &QAction::triggered, this, act);
  addAction(action);
}

QList<Page::PageActions> PatternsPage::page_actions() const {
  return {{tr("On page Patterns"), actions()}};
}

QListView* PatternsPage::pattern_list() const {
  return panel_->list();
}

QSlider* PatternsPage::window_slider() const {
  return panel_->window_slider();
}

TitledMask PatternsPage::titled(const QString& title, const AttentionPattern& pattern) const {
  const std::optional<Window> window = editor_.window_of(pattern);
  QString words_with_window = title;
  if (window) {
    const QString width = window->is_infinite() ? QStringLiteral("∞") : words(window->text());
    const QChar hard_space(QChar::Nbsp);
    words_with_window += QStringLiteral(", w%1=%1%2").arg(hard_space).arg(width);
  }
  return {words_with_window, {pattern, window}};
}

std::vector<PatternsPage::Partner> PatternsPage::partners() const {
  std::vector<Partner> all;
  const PatternEntry& chosen = editor_.entry();
  if (chosen.is_modified()) all.push_back({chosen.id, true});
  for (int row = 0; row < editor_.patterns().rowCount(); ++row) {
    const int id = editor_.patterns().entry(row).id;
    if (id != chosen.id) all.push_back({id, false});
  }
  return all;
}

QString PatternsPage::title_of(const Partner& partner) const {
  if (partner.before) return tr("Before the edits");
  const int row = editor_.patterns().row_of(partner.id);
  return row < 0 ? QString() : editor_.patterns().title(row);
}

std::optional<TitledMask> PatternsPage::mask_of(const Partner& partner) const {
  const int row = editor_.patterns().row_of(partner.id);
  if (row < 0) return std::nullopt;
  const PatternEntry& entry = editor_.patterns().entry(row);
  return titled(title_of(partner), partner.before ? entry.before : entry.pattern);
}

void PatternsPage::choose_partner(int choice) {
  const std::vector<Partner> all = partners();
  partner_.reset();
  if (choice > 0 && static_cast<std::size_t>(choice) <= all.size()) {
    partner_ = all[static_cast<std::size_t>(choice) - 1];
  }
  refresh();
  masks_->set_split(partner_.has_value());
}

void PatternsPage::refresh() {
  const std::vector<Partner> all = partners();
  const auto chosen = partner_ ? std::ranges::find(all, *partner_) : all.end();
  if (chosen == all.end()) partner_.reset();
  QStringList titles{tr("none")};
  for (const Partner& partner : all) titles.append(title_of(partner));
  masks_->set_choices(titles, partner_ ? static_cast<int>(chosen - all.begin()) + 1 : 0);

  const TitledMask a = titled(editor_.patterns().title(editor_.row()), editor_.pattern());
  std::optional<TitledMask> b;
  if (partner_) b = mask_of(*partner_);
  masks_->show_masks(a, b, editor_.item());
  costs_->show_costs(a, b, editor_.item(), panel_->item_box()->heads(),
                     panel_->item_box()->head_dim());
  refresh_benchmark();
  Q_EMIT offers_changed();
}

void PatternsPage::refresh_benchmark() {
  const QStringList implementations = costs_->implementations();
  QString reason = costs_->implementations_problem();
  if (reason.isEmpty()) {
    const Result<QString> sweep = sweep_of(wish());
    if (!sweep) reason = words(sweep.error().message);
  }
  benchmark_->setEnabled(reason.isEmpty());
  benchmark_->setToolTip(reason.isEmpty() ? tr("Measures it against full attention at lengths "
                                               "around this one")
                                          : reason);
  benchmark_note_->setText(reason.isEmpty()
                               ? counted(implementations.size(), tr("implementation takes it:"),
                                         tr("implementations take it:")) +
                                     QLatin1Char(' ') + implementations.join(QStringLiteral(", "))
                               : reason);
}

void PatternsPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  Q_EMIT ceilings_wanted();
}

void PatternsPage::set_machine(const std::optional<MachineCeilings>& machine) {
  costs_->set_machine(machine);
}

void PatternsPage::set_measuring(bool measuring) {
  if (measuring == is_measuring_) return;
  is_measuring_ = measuring;
  costs_->set_measuring(measuring);
  refresh_benchmark();
  if (!measuring) Q_EMIT ceilings_wanted();
}

QString PatternsPage::compared_with() const {
  return partner_ ? title_of(*partner_) : QString();
}

void PatternsPage::compare_with(const QString& title) {
  choose_partner(std::max(0, masks_->partner_picker()->findText(title)));
}

bool PatternsPage::has_table() const {
  return costs_->model().side_a().counts.has_value();
}

void PatternsPage::copy_table(report::TableFormat format) {
  if (!has_table()) return;
  const PatternCostsModel& model = costs_->model();
  QString corner = tr("A: %1").arg(model.side_a().title);
  if (model.side_b()) corner += tr("; B: %1").arg(model.side_b()->title);
  QApplication::clipboard()->setText(clipboard_text(sheet_of(model, corner), format));
  messages_->show_info(tr("Copied the costs as a table."));
}

QString PatternsPage::run_words() const {
  return tr("Benchmark…");
}

void PatternsPage::run() {
  const Result<QString> sweep = sweep_of(wish());
  const QString reason = costs_->implementations_problem();
  if (!sweep || !reason.isEmpty()) {
    return messages_->show_error(reason.isEmpty() ? words(sweep.error().message) : reason);
  }
  messages_->clear();
  Q_EMIT run_asked(*sweep);
}

void PatternsPage::choose(const QString& pattern_name) {
  for (int row = 0; row < editor_.patterns().rowCount(); ++row) {
    if (words(editor_.patterns().pattern(row).name) == pattern_name) return editor_.choose(row);
  }
}

}  // namespace attnscope::gui
