// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/cell_delegate.h"

#include <QApplication>
#include <QPainter>

#include "app/gui/charts/marker.h"
#include "app/gui/models/cell_table_model.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int swatch_width = 30;
constexpr int padding = 6;

QColor text_color(const QModelIndex& index, const QPalette& palette) {
  if (index.column() == CellTableModel::verdict) {
    const QString verdict = index.data().toString();
    if (verdict == QLatin1String("faster")) return good_text(palette);
    if (verdict == QLatin1String("slower")) return error_text(palette);
    return faint_text(palette);
  }
  switch (static_cast<CellStatus>(index.data(CellTableModel::cell_status_role).toInt())) {
    case CellStatus::ok:
      return palette.color(QPalette::Text);
    case CellStatus::wrong:
    case CellStatus::crashed:
    case CellStatus::timeout:
      return index.column() == CellTableModel::contender ? palette.color(QPalette::Text)
                                                         : error_text(palette);
    default:
      return faint_text(palette);
  }
}

}  // namespace

void CellDelegate::set_contenders(const std::vector<std::string>& ids) {
  styles_ = charts::ContenderStyles(ids);
}

void CellDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  option->palette.setColor(QPalette::Text, text_color(index, option->palette));
}

QSize CellDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QSize size = QStyledItemDelegate::sizeHint(option, index);
  size.rwidth() += 2 * padding;
  if (index.column() == CellTableModel::contender) size.rwidth() += swatch_width;
  return size;
}

void CellDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  QStyleOptionViewItem item = option;
  initStyleOption(&item, index);
  const QStyle* style = QApplication::style();
  const QString text = item.text;
  item.text.clear();
  style->drawControl(QStyle::CE_ItemViewItem, &item, painter, option.widget);

  QRect inner = option.rect.adjusted(padding, 0, -padding, 0);
  if (index.column() == CellTableModel::contender) {
    const charts::ChartTheme theme = charts::theme_of(option.palette);
    const charts::ContenderStyle line =
        styles_.style(index.data(CellTableModel::style_key_role).toString().toStdString());
    const QPointF middle(inner.left() + swatch_width / 2.0 - 3, inner.center().y() + 0.5);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(line.pen(theme, 1.6));
    painter->drawLine(middle - QPointF(12, 0), middle + QPointF(12, 0));
    charts::draw_marker(*painter, line.marker, middle, 7, line.color(theme),
                        option.palette.color(QPalette::Base));
    painter->restore();
    inner.setLeft(inner.left() + swatch_width);
  }
  const bool selected = item.state.testFlag(QStyle::State_Selected);
  painter->setPen(item.palette.color(selected ? QPalette::HighlightedText : QPalette::Text));
  painter->setFont(item.font);
  painter->drawText(inner, static_cast<int>(item.displayAlignment),
                    item.fontMetrics.elidedText(text, Qt::ElideRight, inner.width()));
}

}  // namespace attnscope::gui
