// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_delegate.h"

#include <QAbstractItemView>
#include <QPainter>
#include <QScrollBar>
#include <cmath>

#include "app/gui/charts/marker.h"
#include "app/gui/charts/text_lines.h"
#include "app/gui/models/advice_model.h"
#include "app/gui/views/theme.h"
#include "engine/report/answer.h"

namespace attnscope::gui {
namespace {

constexpr int pad = 5;
constexpr int bar_width = 3;
constexpr int line_width = 30;

QColor verdict_color(const QModelIndex& index, const QPalette& palette) {
  const auto standing =
      static_cast<report::Standing>(index.data(AdviceModel::standing_role).toInt());
  const QVariant verdict = index.data(AdviceModel::verdict_role);
  if (standing != report::Standing::within_limits || !verdict.isValid()) return hairline(palette);
  switch (static_cast<statistics::Verdict>(verdict.toInt())) {
    case statistics::Verdict::faster:
      return good_text(palette);
    case statistics::Verdict::slower:
      return error_text(palette);
    case statistics::Verdict::no_difference_shown:
      break;
  }
  return hairline(palette);
}

QString place_text(const QModelIndex& index) {
  const int place = index.data(AdviceModel::place_role).toInt();
  return place > 0 ? QStringLiteral("%1.").arg(place) : QStringLiteral("–");
}

int place_width(const QFont& font) {
  return static_cast<int>(std::ceil(QFontMetricsF(font).horizontalAdvance(QStringLiteral("00.")))) +
         pad;
}

bool is_note(const QModelIndex& index) {
  return index.data(AdviceModel::note_role).toBool();
}

/// From the row's left edge to its text.
int indent(const QFont& font, const QModelIndex& index) {
  const int left = bar_width + 2 * pad;
  return is_note(index) ? left : left + place_width(font) + line_width;
}

/// As if the scroll bar were there: with and without it the lines break alike.
int row_width(const QStyleOptionViewItem& option) {
  const auto* view = qobject_cast<const QAbstractItemView*>(option.widget);
  if (view == nullptr) return option.rect.width();
  return view->width() - 2 * view->frameWidth() - view->verticalScrollBar()->sizeHint().width();
}

}  // namespace

void AnswerDelegate::set_contenders(const std::vector<std::string>& ids) {
  styles_ = charts::ContenderStyles(ids);
}

void AnswerDelegate::set_open(const QModelIndex& index) {
  const QModelIndex before = open_;
  open_ = index;
  for (const QModelIndex& changed : {before, index}) {
    if (changed.isValid()) Q_EMIT sizeHintChanged(changed);
  }
}

QString AnswerDelegate::remarks(const QModelIndex& index) const {
  if (index != open_) return {};
  return index.data(AdviceModel::remarks_role).toStringList().join(QLatin1Char('\n'));
}

QSize AnswerDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const int width = row_width(option);
  const double room = std::max(1, width - indent(option.font, index) - pad);
  double height = charts::size_of_lines(option.font, index.data().toString(), room).height();
  const QString more = remarks(index);
  if (!more.isEmpty()) height += pad + charts::size_of_lines(option.font, more, room).height();
  return {width, static_cast<int>(std::ceil(height)) + 2 * pad};
}

void AnswerDelegate::draw_style(QPainter* painter, const QStyleOptionViewItem& option,
                                const QModelIndex& index, QPointF middle) const {
  const charts::ChartTheme theme = charts::theme_of(option.palette);
  const charts::ContenderStyle line =
      styles_.style(index.data(AdviceModel::style_key_role).toString().toStdString());
  painter->setPen(line.pen(theme, 1.6));
  painter->drawLine(middle - QPointF(12, 0), middle + QPointF(12, 0));
  charts::draw_marker(*painter, line.marker, middle, 7, line.color(theme),
                      option.palette.color(QPalette::Base));
}

void AnswerDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                           const QModelIndex& index) const {
  const QPalette& palette = option.palette;
  const bool open = index == open_;
  const QFontMetricsF metrics(option.font);
  const QRectF row(option.rect);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  if (open) painter->fillRect(row, info_ground(palette));
  if (option.state.testFlag(QStyle::State_HasFocus)) {
    painter->setPen(palette.color(QPalette::Link));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(row.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  const double top = row.top() + pad;
  const double left = row.left() + bar_width + 2 * pad;
  if (!is_note(index)) {
    painter->fillRect(QRectF(row.left() + pad, top, bar_width, row.height() - 2 * pad),
                      verdict_color(index, palette));
    const int width = place_width(option.font);
    painter->setPen(palette.color(QPalette::Text));
    painter->setFont(option.font);
    painter->drawText(QRectF(left, top, width - pad, metrics.height()),
                      Qt::AlignRight | Qt::AlignVCenter, place_text(index));
    draw_style(painter, option, index,
               QPointF(left + width + line_width / 2.0 - 3, top + metrics.height() / 2));
  }
  const double start = row.left() + indent(option.font, index);
  const double room = std::max(1, row_width(option) - indent(option.font, index) - pad);
  const QString sentence = index.data().toString();
  const QSizeF size = charts::size_of_lines(option.font, sentence, room);
  painter->setPen(is_note(index) ? faint_text(palette) : palette.color(QPalette::Text));
  charts::draw_lines(*painter, option.font, QRectF(start, top, room, size.height()), sentence);
  if (const QString more = remarks(index); !more.isEmpty()) {
    painter->setPen(faint_text(palette));
    charts::draw_lines(*painter, option.font,
                       QRectF(start, top + size.height() + pad, room, row.bottom()), more);
  }
  painter->restore();
}

}  // namespace attnscope::gui
