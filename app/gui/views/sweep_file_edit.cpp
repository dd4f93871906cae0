// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/sweep_file_edit.h"

#include <QEvent>
#include <QFontDatabase>
#include <QLabel>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QTextBlock>
#include <QVBoxLayout>

#include "app/gui/views/problem_label.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int pause_ms = 250;

}  // namespace

SweepFileEdit::SweepFileEdit(QWidget* parent)
    : QWidget(parent), edit_(new QPlainTextEdit), problem_(new ProblemLabel("sweep_text_problem")) {
  edit_->setObjectName(QStringLiteral("sweep_text"));
  edit_->setAccessibleName(tr("Sweep file"));
  // The desktop's fixed font in the size of the window's text.
  QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  fixed.setPointSizeF(font().pointSizeF());
  edit_->setFont(fixed);
  edit_->setTabChangesFocus(true);
  edit_->setLineWrapMode(QPlainTextEdit::WidgetWidth);
  auto* hint = new QLabel(tr("JSON, as attnscope run takes it; checked while it is typed."));
  hint->setForegroundRole(QPalette::PlaceholderText);
  hint->setWordWrap(true);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(hint);
  layout->addWidget(edit_, 1);
  layout->addWidget(problem_);
  pause_.setSingleShot(true);
  pause_.setInterval(pause_ms);
  connect(edit_, &QPlainTextEdit::textChanged, this, [this] {
    if (!filling_) pause_.start();
  });
  connect(&pause_, &QTimer::timeout, this, [this] { Q_EMIT edited(text()); });
}

QString SweepFileEdit::text() const {
  return edit_->toPlainText();
}

void SweepFileEdit::set_text(const QString& text) {
  pause_.stop();
  if (text == edit_->toPlainText()) return;
  filling_ = true;
  QTextCursor all(edit_->document());
  all.beginEditBlock();
  all.select(QTextCursor::Document);
  all.insertText(text);
  all.endEditBlock();
  edit_->moveCursor(QTextCursor::Start);
  filling_ = false;
}

void SweepFileEdit::set_problem(const QString& sentence) {
  static const QRegularExpression line(QStringLiteral("line (\\d+)"));
  wrong_line_ = line.match(sentence).captured(1).toInt();
  problem_->set_problem(sentence);
  mark_line();
}

void SweepFileEdit::mark_line() {
  QList<QTextEdit::ExtraSelection> marks;
  const QTextBlock block = edit_->document()->findBlockByNumber(wrong_line_ - 1);
  if (wrong_line_ > 0 && block.isValid()) {
    QTextEdit::ExtraSelection mark;
    mark.format.setBackground(error_ground(palette()));
    mark.format.setProperty(QTextFormat::FullWidthSelection, true);
    mark.cursor = QTextCursor(block);
    marks.append(mark);
  }
  edit_->setExtraSelections(marks);
}

void SweepFileEdit::flush() {
  if (!pause_.isActive()) return;
  pause_.stop();
  Q_EMIT edited(text());
}

void SweepFileEdit::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) mark_line();
}

}  // namespace attnscope::gui
