// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/head_grid_view.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>

#include "app/gui/models/head_grid_model.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

class PictureDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const QPalette& colors = option.palette;
    const QRect inside = option.rect.adjusted(2, 2, -2, -2);
    const auto picture = index.data(Qt::DecorationRole).value<QImage>();
    if (picture.isNull()) {
      painter->fillRect(inside, hairline(colors));
    } else {
      painter->drawImage(inside, picture);
    }
    if (!(option.state & QStyle::State_Selected)) return;
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(colors.color(QPalette::Link), 3));
    painter->drawRect(option.rect.adjusted(1, 1, -2, -2));
  }
};

}  // namespace

HeadGridView::HeadGridView(QWidget* parent) : QTableView(parent) {
  setObjectName(QStringLiteral("heads"));
  setAccessibleName(tr("Heads: layers down, heads across, last their mean"));
  setToolTip(
      tr("A small map of each head, from some of its rows; choose one by mouse or arrow keys"));
  setItemDelegate(new PictureDelegate(this));
  setSelectionMode(QAbstractItemView::SingleSelection);
  setShowGrid(false);
  setTabKeyNavigation(false);
  setCornerButtonEnabled(false);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  for (QHeaderView* header : {horizontalHeader(), verticalHeader()}) {
    header->setSectionResizeMode(QHeaderView::Fixed);
    header->setMinimumSectionSize(8);
    header->setSectionsClickable(false);
    header->setHighlightSections(true);
  }
}

void HeadGridView::set_heads(HeadGridModel* model) {
  setModel(model);
  connect(model, &QAbstractItemModel::modelReset, this, [this] {
    fit_cells();
    choose(0, 0);
  });
}

void HeadGridView::choose(int layer, int head) {
  if (model() && model()->hasIndex(layer, head)) setCurrentIndex(model()->index(layer, head));
}

void HeadGridView::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fit_cells();
}

void HeadGridView::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableView::currentChanged(current, previous);
  if (current.isValid()) Q_EMIT chosen(current.row(), current.column());
}

void HeadGridView::fit_cells() {
  if (!model() || model()->columnCount() == 0) return;
  constexpr int least = 10;  // points: bands can be told apart
  const int side = std::clamp((viewport()->width() - 2) / model()->columnCount(), least,
                              5 * fontMetrics().height());
  horizontalHeader()->setDefaultSectionSize(side);
  verticalHeader()->setDefaultSectionSize(side);
}

}  // namespace attnscope::gui
