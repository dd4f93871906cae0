// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/group_mass_view.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/heat_colors.h"
#include "app/gui/charts/mask_colors.h"
#include "app/gui/models/group_mass_model.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

/// A cell on the colour of its mass, its number in black or white, whichever reads better.
class MassDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const auto* model = qobject_cast<const GroupMassModel*>(index.model());
    const QVariant mass = index.data(GroupMassModel::mass_role);
    const charts::ChartTheme theme = charts::theme_of(option.palette);
    const bool difference = model != nullptr && model->is_difference();
    QColor ground = option.palette.color(QPalette::Base);
    if (mass.isValid()) {
      ground = charts::heat_color(mass.toDouble(), {.difference = difference}, theme);
    }
    painter->fillRect(option.rect, ground);
    painter->setPen(text_on(ground));
    painter->drawText(option.rect, Qt::AlignCenter, index.data().toString());
    if (option.state & QStyle::State_HasFocus) {
      painter->setBrush(Qt::NoBrush);
      painter->setPen(QPen(option.palette.color(QPalette::Link), 2));
      painter->drawRect(option.rect.adjusted(1, 1, -1, -1));
    }
  }
};

}  // namespace

GroupMassTable::GroupMassTable(GroupMassModel* model, QWidget* parent) : QTableView(parent) {
  setObjectName(QStringLiteral("group_mass"));
  setAccessibleName(tr("Mass from token group to token group"));
  setModel(model);
  setItemDelegate(new MassDelegate(this));
  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * 0.9);
  horizontalHeader()->setFont(small);
  verticalHeader()->setFont(small);
  setTabKeyNavigation(false);
  setCornerButtonEnabled(false);
  setSelectionMode(QAbstractItemView::ContiguousSelection);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  horizontalHeader()->setMinimumSectionSize(3 * fontMetrics().height());
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 10);
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  connect(model, &QAbstractItemModel::modelReset, this, &QWidget::updateGeometry);
}

QSize GroupMassTable::sizeHint() const {
  const int rows = model() ? std::max(1, model()->rowCount()) : 1;
  int widest = 0;
  for (int column = 0; column < horizontalHeader()->count(); ++column) {
    const QString name = model()->headerData(column, Qt::Horizontal).toString();
    widest = std::max(widest, horizontalHeader()->fontMetrics().horizontalAdvance(name) + 8);
  }
  return {verticalHeader()->sizeHint().width() + horizontalHeader()->count() * widest +
              2 * frameWidth(),
          horizontalHeader()->sizeHint().height() + rows * verticalHeader()->defaultSectionSize() +
              2 * frameWidth()};
}

GroupMassBars::GroupMassBars(GroupMassModel* model, QWidget* parent)
    : QWidget(parent), model_(model) {
  setObjectName(QStringLiteral("group_bars"));
  setAccessibleName(tr("Mass of each token group as bars"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(model, &QAbstractItemModel::modelReset, this, [this] {
    updateGeometry();
    describe();
  });
  connect(model, &QAbstractItemModel::dataChanged, this, &GroupMassBars::describe);
}

void GroupMassBars::describe() {
  QStringList sentences;
  for (int row = 0; row < model_->rowCount(); ++row) {
    for (int column = 0; column < model_->columnCount(); ++column) {
      sentences.append(model_->index(row, column).data(Qt::ToolTipRole).toString());
    }
  }
  setAccessibleDescription(sentences.join(QStringLiteral(". ")));
  setToolTip(tr("Where the mass of a mean token of each group goes, in the colours of the groups"));
  update();
}

QSize GroupMassBars::sizeHint() const {
  const int line = fontMetrics().height() + 6;
  return {20 * fontMetrics().averageCharWidth(), std::max(1, model_->rowCount()) * line};
}

QSize GroupMassBars::minimumSizeHint() const {
  return {8 * fontMetrics().averageCharWidth(), sizeHint().height()};
}

void GroupMassBars::paintEvent(QPaintEvent* /*event*/) {
  if (!model_->mass()) return;
  QPainter painter(this);
  const charts::ChartTheme theme = charts::theme_of(palette());
  const std::vector<TokenGroup>& groups = model_->groups();
  int text = 0;
  for (const TokenGroup group : groups) {
    text = std::max(text, fontMetrics().horizontalAdvance(charts::group_title(group)));
  }
  const double line = static_cast<double>(height()) / static_cast<double>(groups.size());
  const double left = text + 8;
  const double whole = width() - left;
  for (std::size_t row = 0; row < groups.size(); ++row) {
    const double top = static_cast<double>(row) * line;
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRectF(0, top, text, line), Qt::AlignRight | Qt::AlignVCenter,
                     charts::group_title(groups[row]));
    const auto& masses = (*model_->mass())[static_cast<std::size_t>(groups[row])];
    const double middle = model_->is_difference() ? left + whole / 2 : left;
    const double scale = model_->is_difference() ? whole / 2 : whole;
    double right_end = middle;
    double left_end = middle;
    for (const TokenGroup to : groups) {
      const double size = masses[static_cast<std::size_t>(to)] * scale;
      const QColor color = charts::margin_color(to, theme);
      if (size >= 0) {
        painter.fillRect(QRectF(right_end, top + 3, size, line - 6), color);
        right_end += size;
      } else {
        left_end += size;
        painter.fillRect(QRectF(left_end, top + 3, -size, line - 6), color);
      }
    }
    painter.setPen(hairline(palette()));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(left, top + 3, whole - 1, line - 6));
    if (model_->is_difference()) {
      painter.setPen(palette().color(QPalette::WindowText));
      painter.drawLine(QPointF(middle, top + 2), QPointF(middle, top + line - 2));
    }
  }
}

}  // namespace attnscope::gui
