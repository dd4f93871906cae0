// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/cell_delegate.h"

#include <QApplication>
#include <QPainter>

#include "app/gui/charts/marker.h"
#include "app/gui/models/cell_roles.h"
#include "app/gui/views/theme.h"
#include "engine/heat/cell.h"
#include "engine/statistics/summary.h"

namespace attnscope::gui {
namespace {

constexpr int swatch_width = 30;
constexpr int padding = 6;

bool has_swatch(const QModelIndex& index) {
  return index.column() == 0 && index.data(style_key_role).isValid();
}

QColor verdict_color(statistics::Verdict verdict, const QPalette& palette) {
  if (verdict == statistics::Verdict::faster) return good_text(palette);
  if (verdict == statistics::Verdict::slower) return error_text(palette);
  return faint_text(palette);
}

/// The words say it too: colour alone tells nothing here.
QColor text_color(const QModelIndex& index, const QPalette& palette) {
  const QVariant verdict = index.data(verdict_role);
  if (verdict.isValid())
    return verdict_color(static_cast<statistics::Verdict>(verdict.toInt()), palette);
  const QVariant status = index.data(cell_status_role);
  if (!status.isValid()) return palette.color(QPalette::Text);
  switch (static_cast<CellStatus>(status.toInt())) {
    case CellStatus::ok:
      return palette.color(QPalette::Text);
    case CellStatus::wrong:
    case CellStatus::crashed:
    case CellStatus::timeout:
      return error_text(palette);
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
  if (index.data(baseline_role).toBool() || index.data(heading_role).toBool())
    option->font.setBold(true);
}

QSize CellDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QSize size = QStyledItemDelegate::sizeHint(option, index);
  size.rwidth() += 2 * padding;
  if (has_swatch(index)) size.rwidth() += swatch_width;
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
  if (has_swatch(index)) {
    const charts::ChartTheme theme = charts::theme_of(option.palette);
    const charts::ContenderStyle line =
        styles_.style(index.data(style_key_role).toString().toStdString());
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
                    QFontMetrics(item.font).elidedText(text, Qt::ElideRight, inner.width()));
}

}  // namespace attnscope::gui
