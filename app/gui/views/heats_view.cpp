// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/heats_view.h"

#include <QEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>

#include "app/gui/models/heats_model.h"
#include "app/gui/models/terms.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int most_lines = 4;
constexpr int gap = 4;  // between squares

QColor color_of(HeatState state, const QPalette& palette) {
  switch (state) {
    case HeatState::waiting:
    case HeatState::skipped:
      return faint_text(palette);
    case HeatState::running:
    case HeatState::paused:
      return palette.color(QPalette::Link);
    case HeatState::done:
      return good_text(palette);
    case HeatState::too_large:
      return is_dark(palette) ? QColor(0xe6, 0xb4, 0x4c) : QColor(0x8a, 0x5a, 0x00);
    case HeatState::wrong:
    case HeatState::crashed:
    case HeatState::timeout:
      break;
  }
  return error_text(palette);
}

QString letter_of(HeatState state) {
  switch (state) {
    case HeatState::too_large:
      return QStringLiteral("M");  // memory
    case HeatState::wrong:
      return QStringLiteral("W");
    case HeatState::crashed:
      return QStringLiteral("C");
    case HeatState::timeout:
      return QStringLiteral("T");
    default:
      return {};
  }
}

int square_of(const QWidget& widget) {
  return widget.fontMetrics().height();
}

class MarkDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const int half = gap / 2;
    const auto state = static_cast<HeatState>(index.data(HeatsModel::state_role).toInt());
    paint_heat_mark(*painter, option.rect.adjusted(half, half, -half, -half), state,
                    option.palette);
    if ((option.state & QStyle::State_Selected) == 0) return;
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(option.palette.color(QPalette::Text), 2));
    painter->drawRect(option.rect.adjusted(1, 1, -1, -1));
  }
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& /*index*/) const override {
    const int side = option.fontMetrics.height() + gap;
    return {side, side};
  }
};

/// A square of the state, the number of heats in it, and its name.
class LegendEntry : public QWidget {
 public:
  explicit LegendEntry(HeatState state) : state_(state) { setFocusPolicy(Qt::NoFocus); }

  void set_count(int count) {
    setVisible(count > 0);
    text_ = QStringLiteral("%1 %2").arg(count).arg(state_words(state_));
    setAccessibleName(text_);
    updateGeometry();
    update();
  }
  [[nodiscard]] const QString& text() const { return text_; }
  [[nodiscard]] QSize sizeHint() const override {
    const int height = fontMetrics().height();
    return {height + 6 + fontMetrics().horizontalAdvance(text_) + 2, height};
  }
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter(this);
    const int side = fontMetrics().height();
    paint_heat_mark(painter, QRect(0, (height() - side) / 2, side, side).adjusted(1, 1, -1, -1),
                    state_, palette());
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(rect().adjusted(side + 6, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, text_);
  }

 private:
  HeatState state_;
  QString text_;
};

}  // namespace

void paint_heat_mark(QPainter& painter, const QRect& square, HeatState state,
                     const QPalette& palette) {
  painter.save();
  const QColor color = color_of(state, palette);
  const int side = std::min(square.width(), square.height());
  const QRect box(square.center().x() - side / 2, square.center().y() - side / 2, side, side);
  const int third = std::max(2, side / 3);
  const bool filled = state == HeatState::done || !letter_of(state).isEmpty();
  painter.setPen(QPen(color, 1));
  painter.setBrush(filled ? QBrush(color) : QBrush(palette.color(QPalette::Base)));
  painter.drawRect(box.adjusted(0, 0, -1, -1));
  if (state == HeatState::running) {
    painter.fillRect(box.adjusted(third, third, -third, -third), color);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(1, 1, -2, -2));
  } else if (state == HeatState::paused) {
    const int bar = std::max(2, side / 5);
    const QRect bars = box.adjusted(side / 4, side / 4, -(side / 4), -(side / 4));
    painter.fillRect(QRect(bars.left(), bars.top(), bar, bars.height()), color);
    painter.fillRect(QRect(bars.right() - bar + 1, bars.top(), bar, bars.height()), color);
  } else if (state == HeatState::skipped) {
    painter.drawLine(box.bottomLeft(), box.topRight());
  } else if (const QString letter = letter_of(state); !letter.isEmpty()) {
    QFont font = painter.font();
    font.setBold(true);
    font.setPixelSize(std::max(6, (side * 3) / 4));
    painter.setFont(font);
    painter.setPen(palette.color(QPalette::Base));
    painter.drawText(box, Qt::AlignCenter, letter);
  }
  painter.restore();
}

HeatsView::HeatsView(HeatsModel* heats, QWidget* parent) : QListView(parent), heats_(heats) {
  setObjectName(QStringLiteral("heats"));
  setAccessibleName(tr("Heats of the live run, in the order in which they are measured"));
  setWhatsThis(explained("heat"));
  setModel(heats);
  setItemDelegate(new MarkDelegate(this));
  setFlow(QListView::LeftToRight);
  setWrapping(true);
  setResizeMode(QListView::Adjust);
  setMovement(QListView::Static);
  setUniformItemSizes(true);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  viewport()->setAutoFillBackground(false);
  connect(heats, &QAbstractItemModel::modelReset, this, [this] {
    fit();
    Q_EMIT chosen({});
  });
  connect(heats, &QAbstractItemModel::dataChanged, this, &HeatsView::heats_changed);
  fit();
}

void HeatsView::heats_changed() {
  if (currentIndex().isValid()) Q_EMIT chosen(currentIndex().data().toString());
  const int row = heats_->current_row();
  if (row >= 0 && !hasFocus()) scrollTo(heats_->index(row));
}

void HeatsView::resizeEvent(QResizeEvent* event) {
  QListView::resizeEvent(event);
  fit();
}

void HeatsView::changeEvent(QEvent* event) {
  QListView::changeEvent(event);
  if (event->type() == QEvent::FontChange) fit();
}

void HeatsView::focusInEvent(QFocusEvent* event) {
  // Before the base class, which would select the first one.
  if (!currentIndex().isValid() && heats_->rowCount() > 0)
    setCurrentIndex(heats_->index(std::max(0, heats_->current_row())));
  QListView::focusInEvent(event);
}

void HeatsView::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QListView::currentChanged(current, previous);
  Q_EMIT chosen(current.isValid() ? current.data().toString() : QString());
}

void HeatsView::fit() {
  const int side = square_of(*this) + gap;
  const int in_a_line = std::max(1, (width() - 1) / side);
  const int lines = (heats_->rowCount() + in_a_line - 1) / in_a_line;
  setFixedHeight(std::clamp(lines, 1, most_lines) * side);
}

HeatsLegend::HeatsLegend(HeatsModel* heats, QWidget* parent) : QWidget(parent), heats_(heats) {
  setObjectName(QStringLiteral("heats_legend"));
  explain(this, explained(QStringLiteral("heat")));
  auto* layout = new FlowLayout(this);
  entries_.reserve(heat_states);
  for (int state = 0; state < heat_states; ++state) {
    entries_.push_back(new LegendEntry(static_cast<HeatState>(state)));
    layout->addWidget(entries_.back());
  }
  connect(heats, &QAbstractItemModel::modelReset, this, &HeatsLegend::count);
  connect(heats, &QAbstractItemModel::dataChanged, this, &HeatsLegend::count);
  count();
}

void HeatsLegend::count() {
  for (int state = 0; state < heat_states; ++state) {
    static_cast<LegendEntry*>(entries_[static_cast<std::size_t>(state)])
        ->set_count(heats_->count(static_cast<HeatState>(state)));
  }
  setAccessibleName(text());
}

QString HeatsLegend::text() const {
  QStringList parts;
  for (const QWidget* entry : entries_) {
    if (!entry->isHidden()) parts.append(static_cast<const LegendEntry*>(entry)->text());
  }
  return parts.join(QStringLiteral(", "));
}

}  // namespace attnscope::gui
