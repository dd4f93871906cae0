// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/check_delegate.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "app/gui/models/contender_matrix_model.h"

namespace attnscope::gui {

void CheckDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  QStyleOptionViewItem ground = option;
  initStyleOption(&ground, index);
  ground.features.setFlag(QStyleOptionViewItem::HasCheckIndicator, false);
  const QStyle* style = QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &ground, painter, option.widget);

  // Drawn here because Fusion's empty box cannot be seen on a dark ground.
  constexpr double side = 15;
  QRectF box(0, 0, side, side);
  box.moveCenter(QRectF(option.rect).center());
  const bool checked = index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
  const QPalette& palette = option.palette;
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  const bool impossible = !index.data(ContenderMatrixModel::reason_role).toString().isEmpty();
  if (impossible && !checked) {
    const bool selected = (option.state & QStyle::State_Selected) != 0;
    painter->setPen(QPen(selected ? palette.color(QPalette::HighlightedText)
                                  : palette.color(QPalette::Disabled, QPalette::Text),
                         1));
    painter->setBrush(Qt::NoBrush);
    painter->drawRoundedRect(box, 3, 3);
    painter->drawLine(box.bottomLeft(), box.topRight());
    painter->restore();
    return;
  }
  painter->setPen(QPen(palette.color(QPalette::PlaceholderText), 1));
  painter->setBrush(palette.color(checked ? QPalette::Highlight : QPalette::Base));
  painter->drawRoundedRect(box, 3, 3);
  if (checked) {
    painter->setPen(QPen(palette.color(QPalette::HighlightedText), 2, Qt::SolidLine, Qt::RoundCap,
                         Qt::RoundJoin));
    painter->setBrush(Qt::NoBrush);
    const QPointF corner = box.topLeft();
    painter->drawPolyline(QPolygonF(
        {corner + QPointF(3.5, 7.5), corner + QPointF(6.5, 10.5), corner + QPointF(11.5, 4.5)}));
    if (impossible) painter->drawLine(box.bottomLeft(), box.topRight());
  }
  painter->restore();
}

bool CheckDelegate::editorEvent(QEvent* event, QAbstractItemModel* model,
                                const QStyleOptionViewItem&, const QModelIndex& index) {
  bool turn = false;
  if (event->type() == QEvent::MouseButtonRelease) {
    turn = static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton;
  } else if (event->type() == QEvent::KeyPress) {
    turn = static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space;
  }
  if (!turn) return false;
  const bool checked = index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
  return model->setData(index, checked ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
}

}  // namespace attnscope::gui
