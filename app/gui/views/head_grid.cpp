// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/head_grid.h"

#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QScopedValueRollback>
#include <QSignalBlocker>
#include <QStyledItemDelegate>
#include <algorithm>

#include "app/drawing/map.h"
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
    if (!(option.state & QStyle::State_Enabled)) return;  // after the last of several rows
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
  pictures_ = heads_ + (heads_ > 1 ? 1 : 0);
  summaries_.assign(layers_.size(), std::vector<std::shared_ptr<const HeadSummary>>(
                                        static_cast<std::size_t>(pictures_)));
  const QSignalBlocker quiet(this);  // the session selects a dump's first head itself
  set_lines(best_lines());
  fit_cells();
  choose(0, 0);
}

void HeadGrid::set_lines(int lines) {
  const QScopedValueRollback wraps(is_wrapping_, true);
  lines_ = lines;
  across_ = (pictures_ + lines - 1) / lines;
  clear();
  setRowCount(static_cast<int>(layers_.size()) * lines);
  setColumnCount(across_);
  const auto number = [this](int head) {
    return head == heads_ ? QStringLiteral("μ") : QString::number(head);
  };
  for (int column = 0; column < across_; ++column) {
    const bool mean = column == heads_;
    setHorizontalHeaderItem(
        column, heading_item(number(column),
                             mean ? tr("The mean of the layer's heads: what its attentions, "
                                       "computed side by side, share")
                                  : tr("Head %1: one of the layer's attentions, which are "
                                       "computed side by side")
                                        .arg(column)));
  }
  horizontalHeader()->setVisible(lines == 1);
  for (int row = 0; row < rowCount(); ++row) {
    const auto layer = layers_[static_cast<std::size_t>(row / lines)];
    const int first = row % lines * across_;
    setVerticalHeaderItem(
        row, lines == 1 ? heading_item(QString::number(layer), tr("Layer %1").arg(layer))
                        : heading_item(number(first), tr("Heads from %1 on").arg(first)));
    for (int column = 0; column < across_; ++column) {
      auto* cell = new QTableWidgetItem;
      if (first + column >= pictures_) cell->setFlags(Qt::NoItemFlags);
      setItem(row, column, cell);
    }
  }
  for (int layer = 0; layer < static_cast<int>(layers_.size()); ++layer) {
    for (int head = 0; head < pictures_; ++head) draw(layer, head);
  }
}

int HeadGrid::side_in(int lines) const {
  const int of_width = (viewport()->width() - 2) / ((pictures_ + lines - 1) / lines);
  return lines == 1 ? of_width : std::min(of_width, (height() - 2 * frameWidth()) / lines);
}

int HeadGrid::best_lines() const {
  int best = 1;
  if (layers_.size() != 1) return best;  // each layer is one row
  for (int lines = 2; lines <= pictures_; ++lines) {
    if (side_in(lines) > side_in(best)) best = lines;
  }
  return side_in(1) < 2 * fontMetrics().height() ? best : 1;
}

void HeadGrid::set_summary(int layer, int head, const std::shared_ptr<const HeadSummary>& summary) {
  summaries_.at(static_cast<std::size_t>(layer)).at(static_cast<std::size_t>(head)) = summary;
  draw(layer, head);
}

void HeadGrid::draw(int layer, int head) {
  const auto& summary = summaries_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
  QString tip = name_of(layer, head);
  QTableWidgetItem& shown = *item(layer * lines_ + head / across_, head % across_);
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
  if (layer < static_cast<int>(layers_.size()) && head < pictures_)
    setCurrentCell(layer * lines_ + head / across_, head % across_);
}

void HeadGrid::resizeEvent(QResizeEvent* event) {
  QTableWidget::resizeEvent(event);
  if (is_wrapping_) return;  // a hidden header has freed space
  if (const int lines = best_lines(); lines != lines_) {
    const int head = currentRow() % lines_ * across_ + currentColumn();
    const QSignalBlocker quiet(this);  // the selected head is the same
    set_lines(lines);
    choose(0, std::max(0, head));
  }
  fit_cells();
}

void HeadGrid::changeEvent(QEvent* event) {
  QTableWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  for (int layer = 0; layer < static_cast<int>(layers_.size()); ++layer) {
    for (int head = 0; head < pictures_; ++head) draw(layer, head);
  }
}

void HeadGrid::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableWidget::currentChanged(current, previous);
  const int head = current.row() % lines_ * across_ + current.column();
  if (current.isValid() && head < pictures_) Q_EMIT chosen(current.row() / lines_, head);
}

void HeadGrid::fit_cells() {
  if (columnCount() == 0) return;
  constexpr int least = 10;  // points: bands remain distinguishable
  const int side = std::clamp(side_in(lines_), least, 5 * fontMetrics().height());
  horizontalHeader()->setDefaultSectionSize(side);
  // The numbers of many heads are small, otherwise they would overlap.
  const int widest = fontMetrics().horizontalAdvance(QString::number(heads_)) + 2 * space::hair;
  QFont numbers = font();
  numbers.setPointSizeF(numbers.pointSizeF() * std::min(1.0, static_cast<double>(side) / widest));
  horizontalHeader()->setFont(numbers);
  verticalHeader()->setDefaultSectionSize(side);
}

}  // namespace attnscope::gui
