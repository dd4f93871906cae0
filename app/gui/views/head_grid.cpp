// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/head_grid.h"

#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>

#include "app/gui/charts/map_colors.h"
#include "app/gui/models/attended_tokens_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
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

/// "query: 61.0 % on document; document: 40.2 % on document".
QString strongest_flows(const HeadSummary& summary) {
  QStringList flows;
  for (const TokenGroup from : token_groups) {
    if (summary.rows[static_cast<std::size_t>(from)] == 0) continue;
    const auto& masses = summary.group_mass[static_cast<std::size_t>(from)];
    const auto to = static_cast<TokenGroup>(std::ranges::max_element(masses) - masses.begin());
    flows.append(QStringLiteral("%1: %2 on %3")
                     .arg(charts::group_title(from), share_words(summary.mass(from, to)),
                          charts::group_title(to)));
  }
  return flows.join(QStringLiteral("; "));
}

QTableWidgetItem* heading_item(const QString& text, const QString& tip) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(tip);
  return item;
}

}  // namespace

HeadGrid::HeadGrid(QWidget* parent) : QTableWidget(parent) {
  set_up_table(this);
  setAccessibleName(tr("Heads: layers down, heads across, last their mean"));
  setToolTip(
      tr("A small map of each head, from some of its rows; choose one by mouse or arrow keys"));
  setItemDelegate(new PictureDelegate(this));
  setShowGrid(false);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  for (QHeaderView* header : {horizontalHeader(), verticalHeader()}) {
    header->setSectionResizeMode(QHeaderView::Fixed);
    header->setMinimumSectionSize(8);
    header->setHighlightSections(true);
  }
}

void HeadGrid::set_dump(const std::shared_ptr<const Dump>& dump) {
  layers_ = dump->info().layers;
  heads_ = dump->info().heads;
  const int pictures = heads_ + (heads_ > 1 ? 1 : 0);
  const QSignalBlocker quiet(this);  // the session chooses a dump's first head by itself
  clear();
  setRowCount(static_cast<int>(layers_.size()));
  setColumnCount(pictures);
  summaries_.assign(layers_.size(), std::vector<std::shared_ptr<const HeadSummary>>(
                                        static_cast<std::size_t>(pictures)));
  for (int head = 0; head < pictures; ++head) {
    const bool mean = head == heads_;
    setHorizontalHeaderItem(head,
                            heading_item(mean ? QStringLiteral("μ") : QString::number(head),
                                         mean ? tr("The mean of the layer's heads: what its "
                                                   "attentions, computed side by side, share")
                                              : tr("Head %1: one of the layer's attentions, which "
                                                   "are computed side by side")
                                                    .arg(head)));
  }
  for (int layer = 0; layer < rowCount(); ++layer) {
    const auto number = layers_[static_cast<std::size_t>(layer)];
    setVerticalHeaderItem(layer, heading_item(QString::number(number), tr("Layer %1").arg(number)));
    for (int head = 0; head < pictures; ++head) {
      setItem(layer, head, new QTableWidgetItem);
      draw(layer, head);
    }
  }
  fit_cells();
  choose(0, 0);
}

void HeadGrid::set_summary(int layer, int head, const std::shared_ptr<const HeadSummary>& summary) {
  summaries_.at(static_cast<std::size_t>(layer)).at(static_cast<std::size_t>(head)) = summary;
  draw(layer, head);
}

void HeadGrid::draw(int layer, int head) {
  const auto& summary = summaries_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
  QString tip = name_of(layer, head);
  QTableWidgetItem& shown = *item(layer, head);
  if (summary) {
    tip = tr("%1: %2").arg(tip, strongest_flows(*summary));
    shown.setData(Qt::DecorationRole, charts::heat_image(summary->map, {.logarithmic = true},
                                                         charts::theme_of(palette())));
  }
  shown.setToolTip(tip);
  shown.setData(Qt::AccessibleTextRole, tip);
}

QString HeadGrid::name_of(int layer, int head) const {
  const auto number = layers_.at(static_cast<std::size_t>(layer));
  if (head == heads_) {
    return tr("layer %1, mean of %2").arg(number).arg(counted(heads_, tr("head"), tr("heads")));
  }
  return tr("layer %1, head %2").arg(number).arg(head);
}

void HeadGrid::choose(int layer, int head) {
  if (model()->hasIndex(layer, head)) setCurrentCell(layer, head);
}

void HeadGrid::resizeEvent(QResizeEvent* event) {
  QTableWidget::resizeEvent(event);
  fit_cells();
}

void HeadGrid::changeEvent(QEvent* event) {
  QTableWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  for (int layer = 0; layer < rowCount(); ++layer) {
    for (int head = 0; head < columnCount(); ++head) draw(layer, head);
  }
}

void HeadGrid::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableWidget::currentChanged(current, previous);
  if (current.isValid()) Q_EMIT chosen(current.row(), current.column());
}

void HeadGrid::fit_cells() {
  if (columnCount() == 0) return;
  constexpr int least = 10;  // points: bands can be told apart
  const int side =
      std::clamp((viewport()->width() - 2) / columnCount(), least, 5 * fontMetrics().height());
  horizontalHeader()->setDefaultSectionSize(side);
  // The numbers of many heads are small, or they would run into each other.
  const int widest = fontMetrics().horizontalAdvance(QString::number(heads_)) + 2 * space::hair;
  QFont numbers = font();
  numbers.setPointSizeF(numbers.pointSizeF() * std::min(1.0, static_cast<double>(side) / widest));
  horizontalHeader()->setFont(numbers);
  verticalHeader()->setDefaultSectionSize(side);
}

}  // namespace attnscope::gui
