// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_list.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/gui/session/text.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

using report::Advised;
using report::Standing;

constexpr int row_pad = 5, bar_width = 3;

QString remarks_on(const Advised& one, QChar between) {
  QStringList remarks;
  for (const std::string& remark : one.remarks) remarks.append(words(remark));
  return remarks.join(between);
}

QColor bar_color(const Advised& one, const QPalette& palette) {
  if (one.standing != Standing::within_limits || !one.to_baseline || one.is_baseline)
    return hairline(palette);
  switch (one.to_baseline->verdict) {
    case statistics::Verdict::faster:
      return good_text(palette);
    case statistics::Verdict::slower:
      return error_text(palette);
    case statistics::Verdict::no_difference_shown:
      break;
  }
  return hairline(palette);
}

}  // namespace

class AnswerList::Rows : public QAbstractListModel {
 public:
  using QAbstractListModel::QAbstractListModel;

  void set_advice(std::optional<report::Advice> advice) {
    beginResetModel();
    advice_ = std::move(advice);
    leading_ = advice_ ? report::headline_of(*advice_).sentences().size() : 0;
    endResetModel();
  }
  /// The verdict, the first of the notes, is above all rows.
  [[nodiscard]] bool leads(const QModelIndex& index) const {
    return static_cast<std::size_t>(index.row()) < leading_;
  }
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override {
    if (parent.isValid() || !advice_) return 0;
    return static_cast<int>(advice_->contenders.size() + advice_->notes.size());
  }
  /// Null: the row is a note on all of them, or does not exist.
  [[nodiscard]] const Advised* contender(const QModelIndex& index) const {
    if (!index.isValid() || !advice_ || leads(index)) return nullptr;
    const auto row = static_cast<std::size_t>(index.row()) - leading_;
    return row < advice_->contenders.size() ? &advice_->contenders[row] : nullptr;
  }
  /// Place of a contender within the limits, which come first; otherwise empty.
  [[nodiscard]] QString place(const QModelIndex& index) const {
    const Advised* one = contender(index);
    const bool has_place = one != nullptr && one->standing == Standing::within_limits;
    return has_place ? QStringLiteral("%1.").arg(one - advice_->contenders.data() + 1) : QString();
  }
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Advised* one = contender(index);
    if (one == nullptr) {
      const std::size_t before = leads(index) ? 0 : advice_->contenders.size();
      const auto note = static_cast<std::size_t>(index.row()) - before;
      return role == Qt::DisplayRole ? words(advice_->notes[note]) : QVariant();
    }
    switch (role) {
      case Qt::DisplayRole:
        return words(one->sentence);
      case Qt::ToolTipRole:
        return remarks_on(*one, QLatin1Char('\n'));
      case Qt::AccessibleTextRole:
        return QStringLiteral("%1 %2").arg(place(index), words(one->sentence)).trimmed();
      case Qt::AccessibleDescriptionRole:
        return remarks_on(*one, QLatin1Char(' '));
      default:
        return {};
    }
  }
  [[nodiscard]] QModelIndex index_of(const std::string& contender) const {
    if (!advice_) return {};
    const auto found = std::ranges::find(advice_->contenders, contender, &Advised::contender);
    if (found == advice_->contenders.end()) return {};
    return index(static_cast<int>(found - advice_->contenders.begin()) +
                 static_cast<int>(leading_));
  }

 private:
  std::optional<report::Advice> advice_;
  std::size_t leading_ = 0;  // rows before the contenders
};

/// The current row has its remarks below it.
class AnswerList::Delegate : public QStyledItemDelegate {
 public:
  explicit Delegate(AnswerList* list) : QStyledItemDelegate(list), list_(*list) {}
  void set_contenders(const std::vector<std::string>& ids) {
    styles_ = charts::ContenderStyles(ids);
  }

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override {
    const double room = room_of(option, index);
    double height =
        charts::size_of_lines(option.font, unbroken(index.data().toString()), room).height();
    if (const QString more = opened(index); !more.isEmpty())
      height += row_pad + charts::size_of_lines(option.font, more, room).height();
    return {row_width(), static_cast<int>(std::ceil(height)) + 2 * row_pad};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const QPalette& palette = option.palette;
    const QRectF row(option.rect);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (index == list_.currentIndex()) painter->fillRect(row, info_ground(palette));
    if (option.state.testFlag(QStyle::State_HasFocus)) {
      painter->setPen(palette.color(QPalette::Link));
      painter->setBrush(Qt::NoBrush);
      painter->drawRect(row.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    const Advised* one = list_.rows_->contender(index);
    const double top = row.top() + row_pad;
    if (one != nullptr) paint_head(*painter, option, index, *one);
    const QString sentence = unbroken(index.data().toString());
    const double start = row.left() + indent(option.font, index), room = room_of(option, index);
    const double height = charts::size_of_lines(option.font, sentence, room).height();
    const bool stands_back = one == nullptr && !list_.rows_->leads(index);
    painter->setPen(stands_back ? faint_text(palette) : palette.color(QPalette::Text));
    charts::draw_lines(*painter, option.font, QRectF(start, top, room, height), sentence);
    painter->setPen(faint_text(palette));
    charts::draw_lines(*painter, option.font,
                       QRectF(start, top + height + row_pad, room, row.bottom()), opened(index));
    painter->restore();
  }

 private:
  static double place_width(const QFont& font) {
    return QFontMetricsF(font).horizontalAdvance(QStringLiteral("00."));
  }
  /// Distance from the row's left edge to its text.
  [[nodiscard]] double indent(const QFont& font, const QModelIndex& index) const {
    const double left = bar_width + 2 * row_pad;
    if (list_.rows_->contender(index) == nullptr) return left;
    return left + place_width(font) + row_pad + (charts::sample_width + 0.5) * charts::em_of(font);
  }
  /// Includes the scroll bar's width, so that lines break at the same places with and without it.
  [[nodiscard]] int row_width() const {
    return list_.width() - 2 * list_.frameWidth() - list_.verticalScrollBar()->sizeHint().width();
  }
  [[nodiscard]] double room_of(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    return std::max(1.0, row_width() - indent(option.font, index) - row_pad);
  }
  [[nodiscard]] QString opened(const QModelIndex& index) const {
    const Advised* one = list_.rows_->contender(index);
    return one != nullptr && index == list_.currentIndex() ? remarks_on(*one, QLatin1Char('\n'))
                                                           : QString();
  }
  void paint_head(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index,
                  const Advised& one) const {
    const QRectF row(option.rect);
    const QFontMetricsF metrics(option.font);
    const double top = row.top() + row_pad, left = row.left() + bar_width + 2 * row_pad;
    painter.fillRect(QRectF(row.left() + row_pad, top, bar_width, row.height() - 2 * row_pad),
                     bar_color(one, option.palette));
    const QString place = list_.rows_->place(index);
    const double width = place_width(option.font);
    painter.setPen(option.palette.color(QPalette::Text));
    painter.setFont(option.font);
    painter.drawText(QRectF(left, top, width, metrics.height()), Qt::AlignRight | Qt::AlignVCenter,
                     place.isEmpty() ? QStringLiteral("–") : place);
    charts::draw_sample(painter, styles_.style(one.contender), charts::theme_of(option.palette),
                        QPointF(left + width + row_pad, top + metrics.height() / 2),
                        charts::em_of(option.font), option.palette.color(QPalette::Base));
  }

  AnswerList& list_;
  mutable charts::ContenderStyles styles_;
};

AnswerList::AnswerList(QWidget* parent)
    : QListView(parent), rows_(new Rows(this)), delegate_(new Delegate(this)) {
  setObjectName(QStringLiteral("answer_list"));
  setAccessibleName(tr("Contenders, the best first"));
  setModel(rows_);
  setItemDelegate(delegate_);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  auto* copy = new QAction(tr("Copy this contender"), this);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  connect(copy, &QAction::triggered, this, &AnswerList::copy_current);
  addAction(copy);
  setContextMenuPolicy(Qt::ActionsContextMenu);
}

void AnswerList::set_contenders(const std::vector<std::string>& ids) {
  delegate_->set_contenders(ids);
}

void AnswerList::show_advice(std::optional<report::Advice> advice) {
  const Advised* before = rows_->contender(currentIndex());
  const std::string open = before == nullptr ? std::string() : before->contender;
  const int scrolled = verticalScrollBar()->value();
  rows_->set_advice(std::move(advice));
  const QModelIndex again = open.empty() ? QModelIndex() : rows_->index_of(open);
  if (again.isValid()) setCurrentIndex(again);
  // While a run continues, the scroll position is kept.
  QMetaObject::invokeMethod(
      this, [this, scrolled] { verticalScrollBar()->setValue(scrolled); }, Qt::QueuedConnection);
}

QSize AnswerList::sizeHint() const {
  const QFontMetrics metrics(font());
  return {60 * metrics.averageCharWidth(), minimumSizeHint().height()};
}

QSize AnswerList::minimumSizeHint() const {
  const QFontMetrics metrics(font());
  constexpr int least_rows = 4;
  return {30 * metrics.averageCharWidth(),
          least_rows * (metrics.height() + 2 * row_pad) + 2 * frameWidth()};
}

// Recomputes the line breaks, also in a hidden tab: Qt lays out a list again only when its number
// of rows changes.
void AnswerList::resizeEvent(QResizeEvent* event) {
  QListView::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) scheduleDelayedItemsLayout();
}

void AnswerList::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QListView::currentChanged(current, previous);
  scheduleDelayedItemsLayout();  // one row closes and another opens
  if (!current.isValid()) return;
  // After the rows have been laid out with their new heights.
  QMetaObject::invokeMethod(
      this, [this] { scrollTo(currentIndex()); }, Qt::QueuedConnection);
}

void AnswerList::copy_current() {
  const Advised* one = rows_->contender(currentIndex());
  if (!currentIndex().isValid()) return;
  QString text = currentIndex().data(Qt::DisplayRole).toString() + QLatin1Char('\n');
  if (one != nullptr) {
    text = currentIndex().data(Qt::AccessibleTextRole).toString() + QLatin1Char('\n');
    for (const std::string& remark : one->remarks) text += words(remark) + QLatin1Char('\n');
  }
  QApplication::clipboard()->setText(text);
  Q_EMIT copied();
}

}  // namespace attnscope::gui
