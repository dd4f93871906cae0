// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_list.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QScrollBar>
#include <utility>

#include "app/gui/views/answer_delegate.h"

namespace attnscope::gui {

AnswerList::AnswerList(QWidget* parent) : QListView(parent), delegate_(new AnswerDelegate(this)) {
  setObjectName(QStringLiteral("answer_list"));
  setAccessibleName(tr("Contenders, the best first"));
  setModel(&model_);
  setItemDelegate(delegate_);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  setResizeMode(QListView::Adjust);  // lines break anew
  auto* copy = new QAction(tr("Copy this contender"), this);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  connect(copy, &QAction::triggered, this, &AnswerList::copy_current);
  addAction(copy);
  setContextMenuPolicy(Qt::ActionsContextMenu);
}

void AnswerList::set_contenders(const std::vector<std::string>& ids) {
  delegate_->set_contenders(ids);
}

void AnswerList::show_advice(std::optional<report::Answer> advice) {
  const QString open = currentIndex().data(AdviceModel::style_key_role).toString();
  const int scrolled = verticalScrollBar()->value();
  model_.set_advice(std::move(advice));
  const QModelIndex again = open.isEmpty() ? QModelIndex() : model_.index_of(open);
  if (again.isValid()) setCurrentIndex(again);
  // A run that goes on leaves the reader where they were.
  QMetaObject::invokeMethod(
      this, [this, scrolled] { verticalScrollBar()->setValue(scrolled); }, Qt::QueuedConnection);
}

QSize AnswerList::sizeHint() const {
  const QFontMetrics metrics(font());
  return {60 * metrics.averageCharWidth(), minimumSizeHint().height()};
}

QSize AnswerList::minimumSizeHint() const {
  const QFontMetrics metrics(font());
  return {30 * metrics.averageCharWidth(), 3 * metrics.height()};
}

void AnswerList::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  delegate_->set_open(current);
  QListView::currentChanged(current, previous);
  if (!current.isValid()) return;
  // After the rows have been laid out at their new heights.
  QMetaObject::invokeMethod(
      this, [this] { scrollTo(currentIndex()); }, Qt::QueuedConnection);
}

void AnswerList::copy_current() {
  if (!currentIndex().isValid()) return;
  QApplication::clipboard()->setText(model_.text_of(currentIndex()));
  Q_EMIT copied();
}

}  // namespace attnscope::gui
