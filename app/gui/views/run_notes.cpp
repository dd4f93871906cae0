// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_notes.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "app/gui/session/store_reader.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"

namespace attnscope::gui {
namespace {

// Hundreds of thousands of letters without a space would take seconds to lay out.
constexpr int longest_note = 10'000, longest_tags = 1'000;

/// At most `most` letters, without splitting a surrogate pair.
QString beginning_of(const QString& text, qsizetype most) {
  if (text.size() <= most) return text;
  return text.left(most > 0 && text[most - 1].isHighSurrogate() ? most - 1 : most);
}

class NoteField : public QPlainTextEdit {
 protected:
  /// Pasted text is cut before its layout; one letter too many is kept to show the excess.
  void insertFromMimeData(const QMimeData* source) override {
    const qsizetype there = toPlainText().size() - textCursor().selectedText().size();
    insertPlainText(beginning_of(source->text(), std::max<qsizetype>(0, longest_note + 1 - there)));
  }
};

QStringList tags_of(const RunEntry& entry) {
  QStringList tags;
  for (const std::string& word : tag_words(entry.info.tag)) tags.append(qstring(word));
  return tags;
}

/// Tags that all runs have.
QStringList common_tags(const std::vector<const RunEntry*>& runs) {
  if (runs.empty()) return {};
  QStringList common = tags_of(*runs.front());
  for (const RunEntry* entry : runs) {
    const QStringList own = tags_of(*entry);
    common.removeIf([&](const QString& tag) { return !own.contains(tag); });
  }
  return common;
}

}  // namespace

RunNotes::RunNotes(QWidget* parent)
    : QWidget(parent),
      tags_(new QLineEdit),
      note_(new NoteField),
      length_(new ProblemLabel(this, "note_length")) {
  tags_->setObjectName(QStringLiteral("run_tags"));
  tags_->setAccessibleName(tr("Tags, separated by spaces"));
  tags_->setMaxLength(longest_tags);
  note_->setObjectName(QStringLiteral("run_note"));
  note_->setAccessibleName(tr("Note"));
  note_->setPlaceholderText(tr("Note"));
  note_->setTabChangesFocus(true);
  note_->setFixedHeight(2 * note_->fontMetrics().lineSpacing() + 12);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(tags_);
  layout->addWidget(note_);
  layout->addWidget(length_);
  tags_->installEventFilter(this);
  note_->installEventFilter(this);
  connect(tags_, &QLineEdit::returnPressed, this, &RunNotes::store_edits);
  connect(note_, &QPlainTextEdit::textChanged, this, [this] {
    const bool too_long = note_->toPlainText().size() > longest_note;
    length_->set_problem(
        too_long
            ? tr("A note has at most %L1 characters: the rest is not stored.").arg(longest_note)
            : QString());
  });
  hide();
}

void RunNotes::set_store(const StoreThread& store) {
  store_ = &store;
  connect(store_->reader(), &StoreReader::text_written, this, [this] {
    if (--being_stored_ == 0) Q_EMIT all_stored();
  });
}

void RunNotes::show_runs(const std::vector<const RunEntry*>& runs) {
  QStringList uuids;
  for (const RunEntry* entry : runs) uuids.append(qstring(entry->info.id.uuid));
  if (uuids != uuids_) {
    store_edits();
    // Another program has removed the run: later typing must not affect the next one.
    for (QWidget* field : std::initializer_list<QWidget*>{tags_, note_})
      if (field->hasFocus()) field->clearFocus();
  }
  uuids_ = uuids;
  // Edits in progress refer to the tags and the note from when editing began.
  if (!tags_->isModified()) stored_tags_ = common_tags(runs);
  if (!note_->document()->isModified())
    stored_note_ = runs.size() == 1 ? qstring(runs.front()->info.note) : QString();
  tags_->setPlaceholderText(runs.size() > 1 ? tr("Tags of %1 runs").arg(runs.size()) : tr("Tags"));
  note_->setVisible(runs.size() == 1);
  setVisible(!runs.empty());
  fill();
}

void RunNotes::fill() {
  // Skips edits in progress; unchanged fields keep the cursor.
  const QString tags = stored_tags_.join(QLatin1Char(' '));
  if (!tags_->isModified() && tags_->text() != tags) {
    // Editing text that is not fully shown would lose the rest.
    const bool is_long = tags.size() > longest_tags;
    tags_->setMaxLength(is_long ? static_cast<int>(tags.size()) : longest_tags);
    tags_->setReadOnly(is_long);
    tags_->setText(tags);
  }
  if (note_->document()->isModified()) return;
  const QString shown = beginning_of(stored_note_, longest_note + 1);
  if (note_->toPlainText() != shown) note_->setPlainText(shown);
  note_->setReadOnly(stored_note_.size() > longest_note);
}

void RunNotes::rename(const QString& uuid, const QString& name) {
  ++being_stored_;
  store_->post(&StoreReader::rename_run, uuid, name);
}

bool RunNotes::store_edits() {
  if (tags_->isModified()) {
    static const QRegularExpression between(QStringLiteral("[\\s,]+"));
    QStringList typed = harmless(tags_->text()).split(between, Qt::SkipEmptyParts);
    typed.removeDuplicates();
    QStringList removed = stored_tags_;
    removed.removeIf([&](const QString& tag) { return typed.contains(tag); });
    tags_->setModified(false);
    ++being_stored_;
    store_->post(&StoreReader::change_tags, uuids_, typed, removed);
  }
  if (note_->document()->isModified()) {
    note_->document()->setModified(false);
    const QString typed = beginning_of(harmless(note_->toPlainText()), longest_note).trimmed();
    ++being_stored_;
    store_->post(&StoreReader::write_note, uuids_.front(), typed,
                 std::exchange(stored_note_, typed));
  }
  return being_stored_ == 0;
}

bool RunNotes::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut) store_edits();
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
