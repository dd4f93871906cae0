// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_item_delegate.h"

#include <QApplication>
#include <QPainter>

#include "app/gui/models/run_list_model.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int margin = 8;
constexpr int dot = 8;

QColor status_color(const QModelIndex& index, const QPalette& palette) {
  if (index.data(RunListModel::damaged_role).toBool()) return error_text(palette);
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

/// A dot for a run, a square for what is none.
void draw_mark(QPainter* painter, const QRect& place, const QColor& color, bool is_run) {
  painter->setPen(Qt::NoPen);
  painter->setBrush(color);
  if (is_run) {
    painter->drawEllipse(place);
  } else {
    painter->drawRect(place);
  }
}

}  // namespace

QSize RunItemDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  const int lines = QFontMetrics(option.font).height() +
                    QFontMetrics(sized(option.font, TextSize::small)).height();
  return {120, lines + 2 * margin + 6};
}

void RunItemDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const {
  QStyleOptionViewItem ground = option;
  initStyleOption(&ground, index);
  ground.text.clear();
  QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &ground, painter, option.widget);

  const bool selected = option.state.testFlag(QStyle::State_Selected);
  const QPalette& palette = option.palette;
  const QColor text = palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
  const QRect inner = option.rect.adjusted(margin, margin, -margin, -margin);
  const QRect beside = inner.adjusted(dot + margin, 0, 0, 0);

  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  const QFontMetrics title_metrics(option.font);
  draw_mark(painter,
            QRect(inner.left(), inner.top() + (title_metrics.height() - dot) / 2, dot, dot),
            selected ? text : status_color(index, palette),
            index.data(RunListModel::status_role).isValid());

  painter->setPen(text);
  painter->setFont(option.font);
  const QRect title = QRect(beside.topLeft(), QSize(beside.width(), title_metrics.height()));
  const QString name =
      title_metrics.elidedText(index.data().toString(), Qt::ElideRight, title.width());
  painter->drawText(title, Qt::AlignLeft | Qt::AlignVCenter, name);

  const QFont small = sized(option.font, TextSize::small);
  const QFontMetrics small_metrics(small);
  painter->setFont(small);
  painter->setPen(selected ? text : faint_text(palette));
  // Tags take what the name leaves.
  const int used = title_metrics.horizontalAdvance(name) + margin;
  const QRect tags = title.adjusted(used, 0, 0, 0);
  if (tags.width() > small_metrics.averageCharWidth() * 3) {
    painter->drawText(tags, Qt::AlignRight | Qt::AlignVCenter,
                      small_metrics.elidedText(index.data(RunListModel::tags_role).toString(),
                                               Qt::ElideRight, tags.width()));
  }
  const QRect detail(beside.left(), title.bottom() + 3, beside.width(), small_metrics.height());
  painter->drawText(detail, Qt::AlignLeft | Qt::AlignVCenter,
                    small_metrics.elidedText(index.data(RunListModel::detail_role).toString(),
                                             Qt::ElideRight, detail.width()));

  const QVariant status = index.data(RunListModel::status_role);
  if (status.isValid() && static_cast<RunStatus>(status.toInt()) == RunStatus::running) {
    const QRectF groove(beside.left(), option.rect.bottom() - 5, beside.width(), 3);
    painter->setPen(Qt::NoPen);
    painter->setBrush(hairline(palette));
    painter->drawRoundedRect(groove, 1.5, 1.5);
    const double fraction = index.data(RunListModel::fraction_role).toDouble();
    painter->setBrush(selected ? text : palette.color(QPalette::Link));
    painter->drawRoundedRect(QRectF(groove.left(), groove.top(), groove.width() * fraction, 3), 1.5,
                             1.5);
  }
  painter->restore();
}

void RunItemDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                           const QModelIndex&) const {
  const int height = editor->sizeHint().height();
  const QRect inner = option.rect.adjusted(2 * margin + dot - 4, 0, -margin, 0);
  editor->setGeometry(inner.left(), inner.top() + 4, inner.width(), height);
}

}  // namespace attnscope::gui
