// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/describe_run_dialog.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalBlocker>

#include "app/gui/session/text.h"
#include "app/gui/views/tag_bar.h"

namespace attnscope::gui {

DescribeRunDialog::DescribeRunDialog(int runs, const OwnWords& words, const QStringList& known_tags,
                                     QWidget* parent)
    : QDialog(parent),
      name_(new QLineEdit(words.name)),
      tags_(new QLineEdit(words.tags.join(QLatin1Char(' ')))),
      known_(new TagBar),
      note_(new QPlainTextEdit(words.note)) {
  const bool one = runs == 1;
  setWindowTitle(one ? tr("Name, tags and note") : tr("Tags of %1 runs").arg(runs));
  name_->setObjectName(QStringLiteral("run_name"));
  name_->setAccessibleName(tr("Name of the run"));
  tags_->setObjectName(QStringLiteral("run_tags"));
  tags_->setAccessibleName(tr("Tags, parted by spaces"));
  tags_->setPlaceholderText(tr("words, parted by spaces"));
  note_->setObjectName(QStringLiteral("run_note"));
  note_->setAccessibleName(tr("Note"));
  note_->setTabChangesFocus(true);
  note_->setMinimumHeight(4 * note_->fontMetrics().lineSpacing());
  known_->set_tip(tr("Add the tag %1, or take it away"));
  known_->set_tags(known_tags);
  known_->set_chosen(words.tags);

  auto* form = new QFormLayout(this);
  form->setRowWrapPolicy(QFormLayout::WrapLongRows);
  if (one) form->addRow(tr("&Name"), name_);
  form->addRow(tr("&Tags"), tags_);
  if (!known_tags.isEmpty()) form->addRow(QString(), known_);
  if (one) form->addRow(tr("N&ote"), note_);
  if (!one) {
    name_->setParent(this);
    name_->hide();
    note_->setParent(this);
    note_->hide();
  }
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel);
  buttons->button(QDialogButtonBox::Save)->setObjectName(QStringLiteral("save_words"));
  form->addRow(buttons);
  (one ? name_ : tags_)->setFocus();
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(known_, &TagBar::chosen_changed, this, [this, known_tags](const QStringList& chosen) {
    QStringList tags = typed_tags();
    for (const QString& tag : known_tags) {
      if (!chosen.contains(tag)) tags.removeAll(tag);
      if (chosen.contains(tag) && !tags.contains(tag)) tags.append(tag);
    }
    tags_->setText(tags.join(QLatin1Char(' ')));
  });
  connect(tags_, &QLineEdit::textEdited, this, [this] {
    const QSignalBlocker quiet(known_);
    known_->set_chosen(typed_tags());
  });
}

QStringList DescribeRunDialog::typed_tags() const {
  static const QRegularExpression between(QStringLiteral("[\\s,]+"));
  QStringList tags = tags_->text().split(between, Qt::SkipEmptyParts);
  tags.removeDuplicates();
  return tags;
}

OwnWords DescribeRunDialog::words() const {
  return {.name = name_->text().simplified(),
          .note = note_->toPlainText().trimmed(),
          .tags = typed_tags()};
}

}  // namespace attnscope::gui
