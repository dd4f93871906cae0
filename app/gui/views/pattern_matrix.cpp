// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_matrix.h"

#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QSpinBox>

#include "app/gui/charts/mask_colors.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int widest_window = 1'000'000;  // tokens

GroupRule::Kind kind_of(const QModelIndex& index) {
  return static_cast<GroupRule::Kind>(index.data(PatternMatrixModel::kind_role).toInt());
}

}  // namespace

PatternMatrix::PatternMatrix(PatternMatrixModel* model, QWidget* parent) : QTableView(parent) {
  setModel(model);
  setItemDelegate(new PatternMatrixDelegate(this));
  setObjectName(QStringLiteral("pattern_matrix"));
  setAccessibleName(tr("Who sees whom: rows attend, columns are attended to"));
  setSelectionMode(QAbstractItemView::SingleSelection);
  setEditTriggers(QAbstractItemView::EditKeyPressed);
  setTabKeyNavigation(false);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setCornerButtonEnabled(false);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  horizontalHeader()->setSectionsClickable(false);
  horizontalHeader()->setMinimumSectionSize(10);
  verticalHeader()->setSectionsClickable(false);
  fit();
  connect(this, &QAbstractItemView::clicked, this, [this](const QModelIndex& cell) {
    set_kind(cell,
             static_cast<GroupRule::Kind>(cell.data(PatternMatrixModel::next_kind_role).toInt()));
  });
}

void PatternMatrix::fit() {
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 14);
  updateGeometry();
}

void PatternMatrix::changeEvent(QEvent* event) {
  QTableView::changeEvent(event);
  if (event->type() == QEvent::FontChange && model()) fit();
}

QSize PatternMatrix::sizeHint() const {
  const int rows = static_cast<int>(token_group_count);
  return {12 * fontMetrics().averageCharWidth(), horizontalHeader()->sizeHint().height() +
                                                     rows * verticalHeader()->defaultSectionSize() +
                                                     2 * frameWidth()};
}

// A word is never cut.
QSize PatternMatrix::minimumSizeHint() const {
  const int word =
      fontMetrics().horizontalAdvance(tr("whole")) + 2 * fontMetrics().averageCharWidth();
  const int columns = static_cast<int>(token_group_count);
  return {verticalHeader()->sizeHint().width() + columns * word + 2 * frameWidth(),
          sizeHint().height()};
}

void PatternMatrix::set_kind(const QModelIndex& cell, GroupRule::Kind kind) {
  if (!cell.isValid() || !(cell.flags() & Qt::ItemIsEnabled)) return;
  model()->setData(cell, static_cast<int>(kind), PatternMatrixModel::kind_role);
}

void PatternMatrix::keyPressEvent(QKeyEvent* event) {
  const QModelIndex cell = currentIndex();
  switch (event->key()) {
    case Qt::Key_Space:
      return set_kind(cell, static_cast<GroupRule::Kind>(
                                cell.data(PatternMatrixModel::next_kind_role).toInt()));
    case Qt::Key_1:
      return set_kind(cell, GroupRule::Kind::none);
    case Qt::Key_2:
      return set_kind(cell, GroupRule::Kind::whole);
    case Qt::Key_3:
      return set_kind(cell, GroupRule::Kind::window);
    default:
      QTableView::keyPressEvent(event);
  }
}

void PatternMatrix::contextMenuEvent(QContextMenuEvent* event) {
  const bool by_mouse = event->reason() == QContextMenuEvent::Mouse;
  const QModelIndex cell =
      by_mouse ? indexAt(viewport()->mapFrom(this, event->pos())) : currentIndex();
  if (!cell.isValid() || !(cell.flags() & Qt::ItemIsEnabled)) return;
  setCurrentIndex(cell);
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction(tr("&None\t1"), this, [this, cell] { set_kind(cell, GroupRule::Kind::none); });
  menu->addAction(tr("&Whole\t2"), this, [this, cell] { set_kind(cell, GroupRule::Kind::whole); });
  QAction* window = menu->addAction(tr("W&indow\t3"), this,
                                    [this, cell] { set_kind(cell, GroupRule::Kind::window); });
  QAction* own = menu->addAction(tr("Window of its &own…\tF2"), this, [this, cell] { edit(cell); });
  const bool may_be_window = (cell.flags() & Qt::ItemIsEditable) != 0;
  window->setEnabled(may_be_window);
  own->setEnabled(may_be_window);
  menu->popup(by_mouse ? event->globalPos() : viewport()->mapToGlobal(visualRect(cell).center()));
}

// In the mask's own colours, so that the table is its legend, too.
void PatternMatrixDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                                  const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  const charts::ChartTheme theme = charts::theme_of(option.palette);
  const bool enabled = (index.flags() & Qt::ItemIsEnabled) != 0;
  const bool allowed = enabled && kind_of(index) != GroupRule::Kind::none;
  const QColor ground =
      allowed ? charts::pair_color(PatternMatrixModel::group_at(index.row()),
                                   PatternMatrixModel::group_at(index.column()), theme)
              : charts::ground_color(theme);
  painter->save();
  painter->fillRect(option.rect, ground);
  painter->setPen(allowed ? text_on(ground) : faint_text(option.palette));
  painter->setFont(cell.font);
  const QString text =
      painter->fontMetrics().elidedText(cell.text, Qt::ElideRight, option.rect.width() - 4);
  painter->drawText(option.rect, Qt::AlignCenter, text);
  if (option.state & QStyle::State_HasFocus) {
    painter->setPen(QPen(option.palette.color(QPalette::Link), 3));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option.rect.adjusted(1, 1, -2, -2));
  }
  painter->restore();
}

QWidget* PatternMatrixDelegate::createEditor(QWidget* parent,
                                             const QStyleOptionViewItem& /*option*/,
                                             const QModelIndex& /*index*/) const {
  auto* box = new QSpinBox(parent);
  box->setRange(PatternMatrixModel::slider_window, widest_window);
  box->setSpecialValueText(tr("as below"));
  box->setAccessibleName(tr("Window of this rule"));
  box->setToolTip(tr("A window of its own; below 0 the one that the slider sets"));
  return box;
}

void PatternMatrixDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
  static_cast<QSpinBox*>(editor)->setValue(index.data(Qt::EditRole).toInt());
}

void PatternMatrixDelegate::setModelData(QWidget* editor, QAbstractItemModel* model,
                                         const QModelIndex& index) const {
  auto* box = static_cast<QSpinBox*>(editor);
  box->interpretText();
  model->setData(index, box->value(), Qt::EditRole);
}

}  // namespace attnscope::gui
