// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/token_text.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>

#include "app/drawing/map.h"
#include "app/gui/models/attended_tokens_model.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

class TokenDelegate : public QStyledItemDelegate {
 public:
  TokenDelegate(const AttendedTokensModel& tokens, const TokenText& view, QObject* parent)
      : QStyledItemDelegate(parent), tokens_(tokens), view_(view) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const QPalette& colors = option.palette;
    const charts::ChartTheme theme = charts::theme_of(colors);
    const QRect box = option.rect.adjusted(0, 1, -space_after(option, index), -2);
    const QVariant mass = index.data(AttendedTokensModel::mass_role);
    const QColor ground = mass.isValid()
                              ? charts::heat_color(mass.toDouble(), tokens_.scale(), theme)
                              : colors.color(QPalette::Base);
    const auto group = static_cast<TokenGroup>(index.data(AttendedTokensModel::group_role).toInt());
    painter->fillRect(box, ground);
    painter->fillRect(QRect(box.left(), box.bottom(), box.width(), 2),
                      charts::margin_color(group, theme));
    painter->setPen(text_on(ground));
    painter->drawText(box.adjusted(1, 0, 1, 0), Qt::AlignLeft | Qt::AlignVCenter,
                      index.data(AttendedTokensModel::text_role).toString());
    const bool chosen = option.state & QStyle::State_Selected;
    if (!chosen && index.row() != view_.marked()) return;
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(colors.color(QPalette::Link), chosen ? 2 : 1));
    painter->drawRect(box.adjusted(0, 0, -1, -1));
  }

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override {
    const QString text = index.data(AttendedTokensModel::text_role).toString();
    return {option.fontMetrics.horizontalAdvance(text) + 2 + space_after(option, index),
            option.fontMetrics.height() + 5};
  }

 private:
  static int space_after(const QStyleOptionViewItem& option, const QModelIndex& index) {
    const QModelIndex next = index.siblingAtRow(index.row() + 1);
    if (next.data(AttendedTokensModel::joined_role).toBool()) return 0;
    return std::max(3, option.fontMetrics.horizontalAdvance(QLatin1Char(' ')));
  }

  const AttendedTokensModel& tokens_;
  const TokenText& view_;
};

}  // namespace

TokenText::TokenText(QWidget* parent) : QListView(parent) {
  setAccessibleName(tr("Tokens"));
  setToolTip(
      tr("Each token on the colour of the mass it receives. Choose those that attend: click, "
         "drag, or arrow keys with Shift; Escape: all of them"));
  setFlow(QListView::LeftToRight);
  setWrapping(true);
  setResizeMode(QListView::Adjust);
  setMovement(QListView::Static);
  setSelectionMode(QAbstractItemView::ContiguousSelection);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setMouseTracking(true);
  connect(this, &QAbstractItemView::entered, this,
          [this](const QModelIndex& token) { Q_EMIT hovered(token.row()); });
}

void TokenText::show_tokens(AttendedTokensModel* tokens) {
  setModel(tokens);
  setItemDelegate(new TokenDelegate(*tokens, *this, this));
}

std::optional<TokenRange> TokenText::chosen() const {
  std::optional<TokenRange> all;
  for (const QItemSelectionRange& part : selectionModel()->selection()) {
    if (!all) all = {part.top(), part.bottom() + 1};
    all = {std::min<std::int64_t>(all->begin, part.top()),
           std::max<std::int64_t>(all->end, part.bottom() + 1)};
  }
  return all;
}

void TokenText::select(int from, int to) {
  const QItemSelection tokens(model()->index(std::min(from, to), 0),
                              model()->index(std::max(from, to), 0));
  selectionModel()->select(tokens, QItemSelectionModel::ClearAndSelect);
}

void TokenText::set_chosen(std::optional<TokenRange> tokens) {
  is_reported_ = true;
  if (tokens) {
    select(static_cast<int>(tokens->begin), static_cast<int>(tokens->end) - 1);
  } else {
    clearSelection();
  }
  is_reported_ = false;
}

void TokenText::set_marked(qint64 token) {
  if (token == marked_) return;
  marked_ = token;
  if (token >= 0) scrollTo(model()->index(static_cast<int>(token), 0));
  viewport()->update();
}

void TokenText::selectionChanged(const QItemSelection& selected, const QItemSelection& deselected) {
  QListView::selectionChanged(selected, deselected);
  if (const auto range = chosen(); range && !is_reported_) Q_EMIT tokens_chosen(*range);
}

// Selects from token to token as in text, where a list would select all inside a rectangle.
void TokenText::mouseMoveEvent(QMouseEvent* event) {
  const QModelIndex over = indexAt(event->pos());
  if (!(event->buttons() & Qt::LeftButton)) {
    if (!over.isValid()) Q_EMIT hovered(-1);
    return QListView::mouseMoveEvent(event);
  }
  if (over.isValid() && currentIndex().isValid()) select(currentIndex().row(), over.row());
}

void TokenText::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    Q_EMIT choice_given_up();
    return;
  }
  QListView::keyPressEvent(event);
}

void TokenText::focusInEvent(QFocusEvent* event) {
  // Before the base class, which would select the first one.
  if (!currentIndex().isValid() && model()->rowCount() > 0) {
    selectionModel()->setCurrentIndex(model()->index(0, 0), QItemSelectionModel::NoUpdate);
  }
  QListView::focusInEvent(event);
}

bool TokenText::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) Q_EMIT hovered(-1);
  return QListView::viewportEvent(event);
}

}  // namespace attnscope::gui
