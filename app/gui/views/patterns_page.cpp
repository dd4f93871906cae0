// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/patterns_page.h"

#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/drawing/mask_drawing.h"
#include "app/gui/models/rows_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/page.h"
#include "app/gui/views/pattern_masks.h"
#include "app/gui/views/pattern_panel.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {

PatternsPage::PatternsPage(std::shared_ptr<PatternEditor> editor, QWidget* parent)
    : Page(parent),
      continues_(editor != nullptr),
      owner_(editor ? std::move(editor) : std::make_shared<PatternEditor>()),
      editor_(*owner_),
      panel_(new PatternPanel(editor_)),
      masks_(new PatternMasks(editor_)),
      costs_(new PatternCosts),
      messages_(new MessageBar(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(space::around);
  layout->addWidget(with_sides("patterns_split", new SideArea(panel_, tr("Pattern")), masks_,
                               new SideArea(costs_, tr("Costs")), {260, 600, 310}));

  // The actions work on the whole page, not only in their own part.
  addActions(panel_->actions());
  addActions(masks_->actions());
  add_action(this, tr("Save the pattern"), tr("Ctrl+S"), &PatternsPage::save);
  add_action(this, tr("Save the pattern as…"), tr("Ctrl+Shift+S"), &PatternsPage::save_as);
  connect(panel_, &PatternPanel::open_requested, this, &PatternsPage::ask_for_file);
  connect(panel_, &PatternPanel::file_requested, this,
          [this](const QString& file) { (void)open_file(file); });
  connect(panel_, &PatternPanel::save_requested, this, &PatternsPage::save);
  connect(panel_, &PatternPanel::save_as_requested, this, &PatternsPage::save_as);
  connect(panel_, &PatternPanel::heads_changed, this, &PatternsPage::refresh);
  connect(masks_, &PatternMasks::changed, this, &PatternsPage::refresh);
  connect(costs_, &PatternCosts::run_requested, this, &PatternsPage::run);
  connect(costs_, &PatternCosts::table_changed, this, &PatternsPage::offers_changed);
  if (!continues_) choose(QStringLiteral("sparse"));
  refresh();
}

PatternsPage::~PatternsPage() {
  // A field that is being edited commits when it loses the focus: do this while the editor exists.
  QWidget* focused = QApplication::focusWidget();
  if (focused && isAncestorOf(focused)) focused->clearFocus();
}

QList<Page::PageActions> PatternsPage::page_actions() const {
  return {{tr("On page Patterns"), actions()}};
}

void PatternsPage::refresh() {
  costs_->show_costs(masks_->a(), masks_->b(), editor_.item(), panel_->heads(), panel_->head_dim());
  Q_EMIT offers_changed();
}

void PatternsPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  Q_EMIT ceilings_wanted();
}

void PatternsPage::set_machine(const std::optional<MachineCeilings>& machine) {
  costs_->set_machine(machine);
}

void PatternsPage::set_measuring(bool measuring) {
  if (measuring == costs_->is_measuring()) return;
  costs_->set_measuring(measuring);
  if (!measuring) Q_EMIT ceilings_wanted();
}

bool PatternsPage::has_table() const {
  return costs_->has_counts();
}

void PatternsPage::copy_table(report::TableFormat format) {
  if (!has_table()) return;
  QApplication::clipboard()->setText(clipboard_text(costs_->sheet(), format));
  messages_->show_info(tr("Copied the costs as a table."));
}

QString PatternsPage::run_text() const {
  return tr("New run with this pattern…");
}

void PatternsPage::run() {
  const Result<QString> sweep = costs_->sweep();
  if (!sweep) return messages_->show_error(qstring(sweep.error().message));
  messages_->clear();
  Q_EMIT run_requested(*sweep);
}

void PatternsPage::choose(const QString& pattern_name) {
  for (int row = 0; row < editor_.patterns().rowCount(); ++row) {
    if (qstring(editor_.patterns().pattern(row).name) == pattern_name) return editor_.choose(row);
  }
}

Status PatternsPage::open_file(const QString& file) {
  const int row = editor_.patterns().row_of_file(file);
  if (row >= 0 && editor_.patterns().entry(row).is_modified()) {
    auto* box = new QMessageBox(
        QMessageBox::Question, tr("Open again"),
        tr("\"%1\" has changes that are not saved. Open the file again and lose them?")
            .arg(editor_.patterns().title(editor_.patterns().row_of_file(file))),
        QMessageBox::Cancel, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    QPushButton* again = box->addButton(tr("Open again"), QMessageBox::DestructiveRole);
    connect(again, &QPushButton::clicked, this, [this, file] { (void)read(file); });
    box->open();
    return {};
  }
  return read(file);
}

Status PatternsPage::read(const QString& file) {
  const Status opened = editor_.open_file(file);
  panel_->show_problem(opened ? QString() : qstring(opened.error().message));
  if (opened) remember_file(file, FileKind::pattern);
  return opened;
}

QVariantMap PatternsPage::chosen() const {
  QVariantList documents;
  for (const std::int64_t tokens : editor_.item().documents) documents.append(qint64{tokens});
  return {{QStringLiteral("file"), editor_.entry().file},
          {QStringLiteral("pattern"), qstring(editor_.pattern().name)},
          {QStringLiteral("partner"), masks_->compared_with()},
          {QStringLiteral("window"), qstring(editor_.chosen_window().text())},
          {QStringLiteral("query"), qint64{editor_.item().query}},
          {QStringLiteral("documents"), documents}};
}

// Missing or invalid settings are ignored.
void PatternsPage::restore(const QVariantMap& chosen) {
  if (chosen.isEmpty()) return;
  if (!continues_) restore_problem(chosen);
  if (const QString title = chosen.value(QStringLiteral("partner")).toString(); !title.isEmpty()) {
    masks_->compare_with(title);
  }
}

void PatternsPage::restore_problem(const QVariantMap& chosen) {
  const QString file = chosen.value(QStringLiteral("file")).toString();
  if (file.isEmpty() || !QFileInfo::exists(file) || !editor_.open_file(file)) {
    choose(chosen.value(QStringLiteral("pattern")).toString());
  }
  if (const auto window = stored_window(chosen)) editor_.set_window(*window);
  std::vector<std::int64_t> documents;
  const QVariantList kept = chosen.value(QStringLiteral("documents")).toList();
  documents.reserve(static_cast<std::size_t>(kept.size()));
  for (const QVariant& tokens : kept) documents.push_back(tokens.toLongLong());
  const std::int64_t query = chosen.value(QStringLiteral("query")).toLongLong();
  const auto makes_sense = [](std::int64_t tokens) {
    return tokens > 0 && tokens <= PatternPanel::most_tokens;
  };
  if (query >= 0 && query <= PatternPanel::most_tokens && !documents.empty() &&
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
  // A shipped pattern becomes a user pattern if its name changes.
  ask_for_new_file(this, tr("Save the pattern"), qstring(editor_.pattern().name),
                   {QStringLiteral("json")},
                   [this, then = std::move(then)](const QString& file) { save_to(file, then); });
}

void PatternsPage::save_to(const QString& file, const std::function<void()>& then) {
  const Status saved = editor_.save(file);
  if (!saved) return messages_->show_error(qstring(saved.error().message));
  remember_file(file, FileKind::pattern);
  messages_->show_info(tr("Wrote %1").arg(file));
  if (then) then();
}

bool PatternsPage::has_unsaved() const {
  return !editor_.patterns().modified_rows().isEmpty();
}

void PatternsPage::ask_about_unsaved(const std::function<void()>& then) {
  const PatternListModel& patterns = editor_.patterns();
  int requested = -1;
  for (const int row : patterns.modified_rows()) {
    if (requested < 0 && !discarded_.contains(patterns.entry(row).id)) requested = row;
  }
  if (requested < 0) {
    discarded_.clear();
    return then();
  }
  editor_.choose(requested);
  auto* box = new QMessageBox(
      QMessageBox::Question, tr("Changes that are not saved"),
      tr("\"%1\" has changes that are not saved. Save it?").arg(patterns.title(requested)),
      QMessageBox::NoButton, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setObjectName(QStringLiteral("unsaved"));
  QPushButton* save = box->addButton(tr("&Save…"), QMessageBox::AcceptRole);
  QPushButton* discard = box->addButton(tr("&Do not save"), QMessageBox::DestructiveRole);
  QPushButton* cancel = box->addButton(QMessageBox::Cancel);
  box->setDefaultButton(save);
  box->setEscapeButton(cancel);
  const int id = patterns.entry(requested).id;
  connect(save, &QPushButton::clicked, this, [this, then] {
    const auto next = [this, then] { ask_about_unsaved(then); };
    if (editor_.entry().file.isEmpty()) return ask_to_save_as(next);
    save_to(editor_.entry().file, next);
  });
  connect(discard, &QPushButton::clicked, this, [this, then, id] {
    discarded_.append(id);
    ask_about_unsaved(then);
  });
  connect(cancel, &QPushButton::clicked, this, [this] { discarded_.clear(); });
  box->open();
}

bool PatternsPage::has_figure() const {
  return mask()->problem() != nullptr;
}

// Side by side, the difference; alone, the mask.
void PatternsPage::export_figure() {
  if (!has_figure()) return;
  const charts::MaskSource& a = masks_->a().source;
  QString stem = qstring(a.pattern.name);
  if (a.window) stem += QStringLiteral("-w") + qstring(a.window->text());
  charts::MaskSubject subject{.source = a, .item = editor_.item(), .style = mask()->style()};
  if (masks_->is_split()) {
    subject.against = masks_->b()->source;
    stem += QStringLiteral("-against-") + qstring(subject.against->pattern.name);
  }
  const QString title = masks_->is_split() ? tr("Export the difference") : tr("Export the mask");
  charts::Printable what = charts::printable(std::move(subject));
  for (int row = 0; row < editor_.patterns().rowCount(); ++row)
    what.inputs.emplace_back(editor_.patterns().entry(row).file.toStdString());
  auto* dialog = new FigureDialog(std::move(what), {}, stem, this);
  dialog->setWindowTitle(title);
  connect(dialog, &FigureDialog::written, this, [this](const QString& sentence) {
    messages_->show_info(sentence);
    Q_EMIT succeeded(sentence);
  });
  dialog->open();
}

}  // namespace attnscope::gui
