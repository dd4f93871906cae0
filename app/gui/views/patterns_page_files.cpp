// SPDX-License-Identifier: GPL-3.0-or-later
//
// What page Patterns does with files: opens, saves, exports, and asks before changes are lost.
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
#include <algorithm>
#include <utility>

#include "app/gui/charts/mask_export.h"
#include "app/gui/session/recent_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/pattern_item_box.h"
#include "app/gui/views/pattern_panel.h"
#include "app/gui/views/patterns_page.h"

namespace attnscope::gui {

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
