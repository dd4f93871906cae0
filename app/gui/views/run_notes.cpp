// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_notes.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "app/gui/session/snapshot.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {

QStringList tags_of(const RunEntry& entry) {
  QStringList tags;
  for (const std::string& word : tag_words(entry.info.tag)) tags.append(words(word));
  return tags;
}

QStringList common_tags(const std::vector<const RunEntry*>& runs) {
  if (runs.empty()) return {};
  QStringList common = tags_of(*runs.front());
  for (const RunEntry* entry : runs) {
    const QStringList own = tags_of(*entry);
    common.removeIf([&](const QString& tag) { return !own.contains(tag); });
  }
  return common;
}

RunNotes::RunNotes(QWidget* parent)
    : QWidget(parent), tags_(new QLineEdit), note_(new QPlainTextEdit) {
  tags_->setObjectName(QStringLiteral("run_tags"));
  tags_->setAccessibleName(tr("Tags, parted by spaces"));
  note_->setObjectName(QStringLiteral("run_note"));
  note_->setAccessibleName(tr("Note"));
  note_->setPlaceholderText(tr("Note"));
  note_->setTabChangesFocus(true);
  note_->setFixedHeight(2 * note_->fontMetrics().lineSpacing() + 12);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(tags_);
  layout->addWidget(note_);
  tags_->installEventFilter(this);
  note_->installEventFilter(this);
  connect(tags_, &QLineEdit::returnPressed, this, &RunNotes::keep);
  hide();
}

void RunNotes::show_runs(const std::vector<const RunEntry*>& runs) {
  QStringList uuids;
  for (const RunEntry* entry : runs) uuids.append(words(entry->info.id.uuid));
  if (uuids != uuids_) keep();
  uuids_ = uuids;
  stored_tags_ = common_tags(runs);
  stored_note_ = runs.size() == 1 ? words(runs.front()->info.note) : QString();
  tags_->setPlaceholderText(runs.size() > 1 ? tr("Tags of %1 runs").arg(runs.size()) : tr("Tags"));
  note_->setVisible(runs.size() == 1);
  setVisible(!runs.empty());
  fill();
}

void RunNotes::fill() {
  // Not what is being typed; and the cursor stays where nothing changes.
  const QString tags = stored_tags_.join(QLatin1Char(' '));
  if (!tags_->isModified() && tags_->text() != tags) tags_->setText(tags);
  if (!note_->document()->isModified() && note_->toPlainText() != stored_note_)
    note_->setPlainText(stored_note_);
}

void RunNotes::keep() {
  if (tags_->isModified()) {
    static const QRegularExpression between(QStringLiteral("[\\s,]+"));
    QStringList typed = tags_->text().split(between, Qt::SkipEmptyParts);
    typed.removeDuplicates();
    QStringList removed = stored_tags_;
    removed.removeIf([&](const QString& tag) { return typed.contains(tag); });
    tags_->setModified(false);
    Q_EMIT tags_typed(uuids_, typed, removed);
  }
  if (note_->document()->isModified()) {
    note_->document()->setModified(false);
    Q_EMIT note_typed(uuids_.front(), note_->toPlainText().trimmed());
  }
}

bool RunNotes::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut) keep();
  if (event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    tags_->setModified(false);
    note_->document()->setModified(false);
    fill();
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace attnscope::gui
