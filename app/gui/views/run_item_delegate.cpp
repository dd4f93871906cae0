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
  switch (static_cast<RunStatus>(index.data(RunListModel::status_role).toInt())) {
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

QFont detail_font(const QFont& font) {
  QFont smaller = font;
  smaller.setPointSizeF(font.pointSizeF() * 0.88);
  return smaller;
}

}  // namespace

QSize RunItemDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  const int lines =
      QFontMetrics(option.font).height() + QFontMetrics(detail_font(option.font)).height();
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
  painter->setPen(Qt::NoPen);
  painter->setBrush(selected ? text : status_color(index, palette));
  painter->drawEllipse(inner.left(), inner.top() + (title_metrics.height() - dot) / 2, dot, dot);

  painter->setPen(text);
  painter->setFont(option.font);
  const QRect title = QRect(beside.topLeft(), QSize(beside.width(), title_metrics.height()));
  painter->drawText(
      title, Qt::AlignLeft | Qt::AlignVCenter,
      title_metrics.elidedText(index.data().toString(), Qt::ElideRight, title.width()));

  const QFont small = detail_font(option.font);
  const QFontMetrics small_metrics(small);
  painter->setFont(small);
  painter->setPen(selected ? text : faint_text(palette));
  const QRect detail(beside.left(), title.bottom() + 3, beside.width(), small_metrics.height());
  painter->drawText(detail, Qt::AlignLeft | Qt::AlignVCenter,
                    small_metrics.elidedText(index.data(RunListModel::detail_role).toString(),
                                             Qt::ElideRight, detail.width()));

  if (static_cast<RunStatus>(index.data(RunListModel::status_role).toInt()) == RunStatus::running) {
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

}  // namespace attnscope::gui
