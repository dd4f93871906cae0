// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_matrix.h"

#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QSpinBox>
#include <QStyledItemDelegate>
#include <algorithm>
#include <optional>

#include "app/drawing/map.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int widest_window = 1'000'000;  // tokens
constexpr int slider_window = -1;         // in a width editor: use the slider's window

TokenGroup group_at(int section) {
  return token_groups.at(static_cast<std::size_t>(section));
}

bool has_positions(const QModelIndex& cell) {
  return share_positions(group_at(cell.row()), group_at(cell.column()));
}

/// Parses the output of ChunkRule::text(), with or without spaces.
std::optional<ChunkRule> chunk_from(const QString& text) {
  const QStringList numbers = text.split(QLatin1Char('+'));
  if (numbers.size() != 2) return std::nullopt;
  bool is_size = false;
  bool is_overlap = false;
  const ChunkRule rule{.tokens = numbers[0].trimmed().toInt(&is_size),
                       .overlap = numbers[1].trimmed().toInt(&is_overlap)};
  const bool in_range = rule.tokens >= 1 && rule.tokens <= widest_window && rule.overlap >= 0 &&
                        rule.overlap <= widest_window;
  return is_size && is_overlap && in_range ? std::optional(rule) : std::nullopt;
}

/// Paints a cell in its pair's colour, so that the table is also the mask's legend, and edits a
/// window's own width and the sizes of chunks.
class RuleDelegate : public QStyledItemDelegate {
 public:
  explicit RuleDelegate(PatternMatrix* matrix) : QStyledItemDelegate(matrix), matrix_(matrix) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const charts::ChartTheme theme = charts::theme_of(option.palette);
    const bool enabled = (index.flags() & Qt::ItemIsEnabled) != 0;
    const bool allowed = enabled && matrix_->rule_at(index).kind != GroupRule::Kind::none;
    const QColor ground =
        allowed ? charts::pair_color(group_at(index.row()), group_at(index.column()), theme)
                : charts::ground_color(theme);
    painter->save();
    painter->fillRect(option.rect, ground);
    painter->setPen(allowed ? text_on(ground) : faint_text(option.palette));
    painter->setFont(option.font);
    painter->drawText(option.rect, Qt::AlignCenter,
                      painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight,
                                                        option.rect.width() - 4));
    if (option.state & QStyle::State_HasFocus) {
      painter->setPen(QPen(option.palette.color(QPalette::Link), 3));
      painter->setBrush(Qt::NoBrush);
      painter->drawRect(option.rect.adjusted(1, 1, -2, -2));
    }
    painter->restore();
  }

  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& /*option*/,
                        const QModelIndex& index) const override {
    if (matrix_->rule_at(index).kind == GroupRule::Kind::chunks) {
      auto* sizes = new QLineEdit(parent);
      sizes->setAccessibleName(PatternMatrix::tr("Chunks of this rule"));
      sizes->setToolTip(
          PatternMatrix::tr("Tokens per chunk + additional tokens on each side: 40+5"));
      return sizes;
    }
    auto* box = new QSpinBox(parent);
    box->setRange(slider_window, widest_window);
    box->setSpecialValueText(PatternMatrix::tr("slider"));
    box->setAccessibleName(PatternMatrix::tr("Window of this rule"));
    box->setToolTip(PatternMatrix::tr("The rule's own window; below 0: the window of the slider"));
    return box;
  }

  void setEditorData(QWidget* editor, const QModelIndex& index) const override {
    if (auto* sizes = qobject_cast<QLineEdit*>(editor)) {
      sizes->setText(qstring(matrix_->rule_at(index).chunk.text()));
      return;
    }
    const std::int64_t width = matrix_->rule_at(index).fixed_window.value_or(slider_window);
    static_cast<QSpinBox*>(editor)->setValue(static_cast<int>(width));
  }

  void setModelData(QWidget* editor, QAbstractItemModel* /*model*/,
                    const QModelIndex& index) const override {
    if (const auto* sizes = qobject_cast<QLineEdit*>(editor)) {
      matrix_->set_chunks(index, sizes->text());
      return;
    }
    auto* box = static_cast<QSpinBox*>(editor);
    box->interpretText();
    GroupRule rule{.kind = GroupRule::Kind::window};
    if (box->value() != slider_window) rule.fixed_window = box->value();
    matrix_->set_rule(index, rule);
  }

 private:
  PatternMatrix* matrix_;
};

}  // namespace

PatternMatrix::PatternMatrix(QWidget* parent)
    : QTableWidget(token_group_count, token_group_count, parent) {
  setItemDelegate(new RuleDelegate(this));
  set_up_table(this);
  setAccessibleName(tr("Attention rules: rows attend, columns are attended to"));
  setEditTriggers(QAbstractItemView::EditKeyPressed);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  for (int section = 0; section < rowCount(); ++section) {
    const TokenGroup group = group_at(section);
    const QString title = charts::group_title(group);
    const bool is_sentence = group == TokenGroup::sentence;
    const QString row_name = is_sentence ? tr("sent.") : title;
    // Columns are narrow.
    auto* column = new QTableWidgetItem(group == TokenGroup::document ? tr("doc.") : row_name);
    auto* row = new QTableWidgetItem(row_name);
    row->setToolTip(tr("Rows attend: token group %1").arg(title));
    column->setToolTip(tr("Columns are attended to: token group %1").arg(title));
    for (QTableWidgetItem* item : {row, column}) {
      item->setData(Qt::AccessibleTextRole, item->toolTip());
    }
    setVerticalHeaderItem(section, row);
    setHorizontalHeaderItem(section, column);
    for (int to = 0; to < columnCount(); ++to) setItem(section, to, new QTableWidgetItem);
  }
  fit();
  connect(this, &QAbstractItemView::clicked, this, &PatternMatrix::set_next_kind);
}

void PatternMatrix::set_editor(PatternEditor& editor) {
  editor_ = &editor;
  connect(editor_, &PatternEditor::changed, this, &PatternMatrix::refresh);
  refresh();
}

const GroupRule& PatternMatrix::rule_at(const QModelIndex& cell) const {
  return editor_->pattern().rule(group_at(cell.row()), group_at(cell.column()));
}

void PatternMatrix::set_rule(const QModelIndex& cell, const GroupRule& rule) {
  if (!cell.isValid() || !(cell.flags() & Qt::ItemIsEnabled)) return;
  const Status done = editor_->set_rule(group_at(cell.row()), group_at(cell.column()), rule);
  Q_EMIT refused(done ? QString() : qstring(done.error().message));
}

void PatternMatrix::set_chunks(const QModelIndex& cell, const QString& sizes) {
  if (const auto chunk = chunk_from(sizes)) {
    set_rule(cell, {.kind = GroupRule::Kind::chunks, .chunk = *chunk});
    return;
  }
  Q_EMIT refused(tr("Write chunks as 40+5: tokens per chunk, from 1 to %1, and additional tokens "
                    "on each side, from 0.")
                     .arg(widest_window));
}

void PatternMatrix::set_kind(const QModelIndex& cell, GroupRule::Kind kind) {
  set_rule(cell, {.kind = kind});
}

void PatternMatrix::set_next_kind(const QModelIndex& cell) {
  if (!cell.isValid()) return;
  switch (rule_at(cell).kind) {
    case GroupRule::Kind::none:
      return set_kind(cell, GroupRule::Kind::whole);
    case GroupRule::Kind::whole:
      return set_kind(cell, has_positions(cell) ? GroupRule::Kind::window : GroupRule::Kind::none);
    case GroupRule::Kind::window:
      return set_kind(cell, GroupRule::Kind::chunks);
    case GroupRule::Kind::chunks:
      return set_kind(cell, GroupRule::Kind::none);
  }
}

void PatternMatrix::refresh() {
  const AttentionPattern& pattern = editor_->pattern();
  const bool by_groups = !pattern.knows_no_groups();
  const QString without_groups = pattern.blocks ? tr("blocks") : tr("window");
  for (int row = 0; row < rowCount(); ++row) {
    for (int column = 0; column < columnCount(); ++column) {
      const QModelIndex cell = model()->index(row, column);
      const GroupRule& rule = rule_at(cell);
      const bool is_window = rule.kind == GroupRule::Kind::window;
      QString text = !by_groups ? without_groups : is_window ? QStringLiteral("w") : tr("none");
      if (by_groups && rule.kind == GroupRule::Kind::whole) text = tr("whole");
      if (by_groups && is_window && rule.fixed_window) {
        text = QStringLiteral("w = %1").arg(*rule.fixed_window);
      }
      const bool is_chunks = rule.kind == GroupRule::Kind::chunks;
      if (by_groups && is_chunks) text = qstring(rule.chunk.text());
      const QString who =
          tr("%1 attends to %2")
              .arg(charts::group_title(group_at(row)), charts::group_title(group_at(column)));
      Qt::ItemFlags flags = Qt::ItemIsSelectable;
      if (by_groups) flags |= Qt::ItemIsEnabled;
      if (by_groups && has_positions(cell)) flags |= Qt::ItemIsEditable;
      QTableWidgetItem& shown = *item(row, column);
      shown.setText(text);
      shown.setFlags(flags);
      const QString rule_text = is_window   ? tr("window, %1").arg(text)
                                : is_chunks ? tr("chunks, %1").arg(text)
                                            : text;
      shown.setData(Qt::AccessibleTextRole, QStringLiteral("%1: %2").arg(who, rule_text));
      shown.setToolTip(tr("%1. Click or Space sets the next rule; 1 none, 2 whole, 3 window w, 4 "
                          "chunks; F2 edits the rule's own window or the sizes of its chunks.")
                           .arg(who));
    }
  }
}

// Words are never cut.
void PatternMatrix::fit() {
  horizontalHeader()->setMinimumSectionSize(fontMetrics().horizontalAdvance(tr("whole")) +
                                            2 * fontMetrics().averageCharWidth());
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 14);
  updateGeometry();
}

void PatternMatrix::changeEvent(QEvent* event) {
  QTableWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) fit();
}

void PatternMatrix::resizeEvent(QResizeEvent* event) {
  QTableWidget::resizeEvent(event);
  updateGeometry();
}

int PatternMatrix::whole_width() const {
  return verticalHeader()->sizeHint().width() +
         columnCount() * horizontalHeader()->minimumSectionSize() + 2 * frameWidth();
}

QSize PatternMatrix::sizeHint() const {
  const int bar = width() < whole_width() ? horizontalScrollBar()->sizeHint().height() : 0;
  return {12 * fontMetrics().averageCharWidth(),
          horizontalHeader()->sizeHint().height() +
              rowCount() * verticalHeader()->defaultSectionSize() + 2 * frameWidth() + bar};
}

// With large text the columns scroll, and the row names stay.
QSize PatternMatrix::minimumSizeHint() const {
  const int room = SideArea::widest - verticalScrollBar()->sizeHint().width() - space::gap;
  return {std::min(whole_width(), room), sizeHint().height()};
}

void PatternMatrix::keyPressEvent(QKeyEvent* event) {
  const QModelIndex cell = currentIndex();
  switch (event->key()) {
    case Qt::Key_Space:
      return set_next_kind(cell);
    case Qt::Key_1:
      return set_kind(cell, GroupRule::Kind::none);
    case Qt::Key_2:
      return set_kind(cell, GroupRule::Kind::whole);
    case Qt::Key_3:
      return set_kind(cell, GroupRule::Kind::window);
    case Qt::Key_4:
      return set_kind(cell, GroupRule::Kind::chunks);
    default:
      QTableWidget::keyPressEvent(event);
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
  QAction* chunks = menu->addAction(tr("&Chunks\t4"), this,
                                    [this, cell] { set_kind(cell, GroupRule::Kind::chunks); });
  const bool is_chunks = rule_at(cell).kind == GroupRule::Kind::chunks;
  QAction* own =
      menu->addAction(is_chunks ? tr("&Sizes of the chunks…\tF2") : tr("&Own window…\tF2"), this,
                      [this, cell] { edit(cell); });
  for (QAction* action : {window, chunks, own}) action->setEnabled(has_positions(cell));
  menu->popup(by_mouse ? event->globalPos() : viewport()->mapToGlobal(visualRect(cell).center()));
}

}  // namespace attnscope::gui
