// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/patterns_page.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFileInfo>
#include <QLabel>
#include <QListView>
#include <QMessageBox>
#include <QPushButton>
#include <QSlider>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/charts/mask_export.h"
#include "app/gui/models/table_text.h"
#include "app/gui/session/recent_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/kept.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/pattern_costs.h"
#include "app/gui/views/pattern_item_box.h"
#include "app/gui/views/pattern_panel.h"
#include "app/gui/views/side_area.h"
#include "app/gui/views/theme.h"

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
      messages_(new MessageBar(this)) {
  auto* middle = new QWidget;
  auto* middle_layout = new QVBoxLayout(middle);
  middle_layout->setContentsMargins(space::gap, 0, space::gap, 0);
  middle_layout->addWidget(masks_, 1);
  auto* split = new QSplitter(Qt::Horizontal);
  split->setObjectName(QStringLiteral("patterns_split"));
  split->setChildrenCollapsible(false);
  split->addWidget(panel_);
  split->addWidget(middle);
  split->addWidget(new SideArea(build_right(), tr("Costs")));
  split->setSizes({260, 600, 310});  // whatever the size of the text: the mask needs the room
  split->setStretchFactor(0, 0);
  split->setStretchFactor(1, 1);
  split->setStretchFactor(2, 0);
  keep_sizes(*split);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(split);

  // They reach the whole page, not their own part alone.
  addActions(panel_->actions());
  addActions(masks_->actions());
  add_action(this, tr("Save the pattern"), tr("Ctrl+S"), &PatternsPage::save);
  add_action(this, tr("Save the pattern as…"), tr("Ctrl+Shift+S"), &PatternsPage::save_as);
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

Status PatternsPage::open_file(const QString& file) {
  const int row = editor_.patterns().row_of_file(file);
  if (row >= 0 && editor_.patterns().entry(row).is_modified()) {
    open_again(file);
    return {};
  }
  const Status opened = editor_.open_file(file);
  panel_->show_problem(opened ? QString() : words(opened.error().message));
  if (opened) remember_file(file);
  return opened;
}

void PatternsPage::open_again(const QString& file) {
  const int row = editor_.patterns().row_of_file(file);
  auto* box = new QMessageBox(
      QMessageBox::Question, tr("Open again"),
      tr("\"%1\" has changes that are not saved. Open the file again and lose them?")
          .arg(editor_.patterns().title(row)),
      QMessageBox::Cancel, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  QPushButton* again = box->addButton(tr("Open again"), QMessageBox::DestructiveRole);
  connect(again, &QPushButton::clicked, this, [this, file] {
    const Status opened = editor_.open_file(file);
    panel_->show_problem(opened ? QString() : words(opened.error().message));
  });
  box->open();
}

QVariantMap PatternsPage::chosen() const {
  QVariantList documents;
  for (const std::int64_t tokens : item().documents) documents.append(qint64{tokens});
  return {{QStringLiteral("file"), editor_.entry().file},
          {QStringLiteral("pattern"), words(pattern().name)},
          {QStringLiteral("partner"), compared_with()},
          {QStringLiteral("window"), words(editor_.chosen_window().text())},
          {QStringLiteral("query"), qint64{item().query}},
          {QStringLiteral("documents"), documents}};
}

// What is gone or makes no sense any more stays as it is.
void PatternsPage::restore(const QVariantMap& chosen) {
  if (chosen.isEmpty()) return;
  if (!goes_on_) restore_problem(chosen);
  if (const QString title = chosen.value(QStringLiteral("partner")).toString(); !title.isEmpty()) {
    compare_with(title);
  }
}

void PatternsPage::restore_problem(const QVariantMap& chosen) {
  const QString file = chosen.value(QStringLiteral("file")).toString();
  if (file.isEmpty() || !QFileInfo::exists(file) || !editor_.open_file(file)) {
    choose(chosen.value(QStringLiteral("pattern")).toString());
  }
  const std::string window = chosen.value(QStringLiteral("window")).toString().toStdString();
  if (const Result<Window> parsed = parse_window(window)) editor_.set_window(*parsed);
  std::vector<std::int64_t> documents;
  const QVariantList kept = chosen.value(QStringLiteral("documents")).toList();
  documents.reserve(static_cast<std::size_t>(kept.size()));
  for (const QVariant& tokens : kept) documents.push_back(tokens.toLongLong());
  const std::int64_t query = chosen.value(QStringLiteral("query")).toLongLong();
  const auto makes_sense = [](std::int64_t tokens) {
    return tokens > 0 && tokens <= PatternItemBox::most_tokens;
  };
  if (query >= 0 && query <= PatternItemBox::most_tokens && !documents.empty() &&
      std::ranges::all_of(documents, makes_sense)) {
    editor_.set_query(query);
    editor_.set_documents(documents);
  }
  editor_.undo_stack().clear();
}

void PatternsPage::ask_for_file() {
  gui::ask_for_file(this, tr("Open a pattern"), tr("Patterns (*.json)"),
                    [this](const QString& file) { (void)open_file(file); });
}

void PatternsPage::save() {
  if (editor_.entry().file.isEmpty()) return save_as();
  save_to(editor_.entry().file, {});
}

void PatternsPage::save_as() {
  ask_to_save_as({});
}

void PatternsPage::ask_to_save_as(std::function<void()> then) {
  // One that ships becomes a pattern of one's own when its name does not stay.
  ask_for_new_file(this, tr("Save the pattern"), words(editor_.pattern().name),
                   {QStringLiteral("json")},
                   [this, then = std::move(then)](const QString& file) { save_to(file, then); });
}

void PatternsPage::save_to(const QString& file, const std::function<void()>& then) {
  const Status saved = editor_.save(file);
  if (!saved) return messages_->show_error(words(saved.error().message));
  remember_file(file);
  messages_->show_info(tr("Wrote %1").arg(file));
  if (then) then();
}

bool PatternsPage::has_unsaved() const {
  return !editor_.patterns().modified_rows().isEmpty();
}

void PatternsPage::settle_unsaved(const std::function<void()>& then) {
  const PatternListModel& patterns = editor_.patterns();
  int asked = -1;
  for (const int row : patterns.modified_rows()) {
    if (asked < 0 && !given_up_.contains(patterns.entry(row).id)) asked = row;
  }
  if (asked < 0) {
    given_up_.clear();
    return then();
  }
  editor_.choose(asked);
  auto* box = new QMessageBox(
      QMessageBox::Question, tr("Changes that are not saved"),
      tr("\"%1\" has changes that are not saved. Save it?").arg(patterns.title(asked)),
      QMessageBox::NoButton, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setObjectName(QStringLiteral("unsaved"));
  QPushButton* save = box->addButton(tr("&Save…"), QMessageBox::AcceptRole);
  QPushButton* give_up = box->addButton(tr("&Do not save"), QMessageBox::DestructiveRole);
  QPushButton* cancel = box->addButton(QMessageBox::Cancel);
  box->setDefaultButton(save);
  box->setEscapeButton(cancel);
  const int id = patterns.entry(asked).id;
  connect(save, &QPushButton::clicked, this, [this, then] {
    const auto go_on = [this, then] { settle_unsaved(then); };
    if (editor_.entry().file.isEmpty()) return ask_to_save_as(go_on);
    save_to(editor_.entry().file, go_on);
  });
  connect(give_up, &QPushButton::clicked, this, [this, then, id] {
    given_up_.append(id);
    settle_unsaved(then);
  });
  connect(cancel, &QPushButton::clicked, this, [this] { given_up_.clear(); });
  box->open();
}

bool PatternsPage::has_figure() const {
  return mask()->problem() != nullptr;
}

// Side by side, the difference; alone, the mask.
void PatternsPage::export_figure() {
  if (!has_figure()) return;
  const std::optional<TitledMask> b =
      masks_->is_split() && partner_ ? mask_of(*partner_) : std::nullopt;
  QString stem = words(pattern().name);
  if (window()) stem += QStringLiteral("-w") + words(window()->text());
  if (b) stem += QStringLiteral("-against-") + words(b->source.pattern.name);
  charts::MaskSubject subject{
      .pattern = pattern(), .window = window(), .item = item(), .style = mask()->style()};
  if (b) subject.against = b->source;
  charts::Printable what = charts::printable(std::move(subject));
  for (int row = 0; row < editor_.patterns().rowCount(); ++row)
    what.inputs.emplace_back(editor_.patterns().entry(row).file.toStdString());
  auto* dialog = new FigureDialog(std::move(what), {}, stem, this);
  dialog->setWindowTitle(b ? tr("Export the difference") : tr("Export the mask"));
  connect(dialog, &FigureDialog::written, this, [this](const QString& sentence) {
    messages_->show_info(sentence);
    Q_EMIT succeeded(sentence);
  });
  dialog->open();
}

}  // namespace attnscope::gui
