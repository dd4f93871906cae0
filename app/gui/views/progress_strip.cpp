// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/progress_strip.h"

#include <QAction>
#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <algorithm>
#include <array>
#include <utility>

#include "app/gui/session/sweep_draft.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"
#include "engine/sweep/pause.h"

namespace attnscope::gui {

QString state_text(HeatState state) {
  static constexpr std::array<const char*, heat_states> texts{QT_TR_NOOP("waiting"),
                                                              QT_TR_NOOP("being measured"),
                                                              QT_TR_NOOP("paused here"),
                                                              QT_TR_NOOP("measured"),
                                                              QT_TR_NOOP("partly out of memory"),
                                                              QT_TR_NOOP("wrong result"),
                                                              QT_TR_NOOP("crashed"),
                                                              QT_TR_NOOP("timed out"),
                                                              QT_TR_NOOP("skipped")};
  return HeatsModel::tr(texts.at(static_cast<std::size_t>(state)));
}

void HeatsModel::set_heats(const HeatsPointer& heats) {
  const bool grows =
      heats && heats_ && heats->uuid == heats_->uuid && heats->heats.size() == heats_->heats.size();
  if (!grows) {
    beginResetModel();
    heats_ = heats;
    endResetModel();
    return;
  }
  const HeatsPointer before = std::exchange(heats_, heats);
  for (int row = 0; row < rowCount(); ++row) {
    const auto place = static_cast<std::size_t>(row);
    if (before->heats[place] != heats_->heats[place]) Q_EMIT dataChanged(index(row), index(row));
  }
}

int HeatsModel::count(HeatState state) const {
  return heats_ ? static_cast<int>(std::ranges::count(heats_->heats, state, &HeatEntry::state)) : 0;
}

int HeatsModel::current_row() const {
  for (int row = 0; row < rowCount(); ++row) {
    const HeatState state = heats_->heats[static_cast<std::size_t>(row)].state;
    if (state == HeatState::running || state == HeatState::paused) return row;
  }
  return -1;
}

int HeatsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !heats_ ? 0 : static_cast<int>(heats_->heats.size());
}

QString HeatsModel::sentence(int row) const {
  const HeatEntry& heat = heats_->heats[static_cast<std::size_t>(row)];
  QString text = tr("Heat %1 of %2").arg(row + 1).arg(rowCount());
  if (!heat.point.isEmpty()) text += QStringLiteral(", ") + heat.point;
  text += QStringLiteral(": ") + state_text(heat.state);
  if (!heat.outcome.isEmpty()) text += QStringLiteral(" (%1)").arg(heat.outcome);
  return text;
}

QVariant HeatsModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
      return sentence(index.row());
    case state_role:
      return static_cast<int>(heats_->heats[static_cast<std::size_t>(index.row())].state);
    default:
      return {};
  }
}

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
    text_ = QStringLiteral("%1 %2").arg(count).arg(state_text(state_));
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
  connect(heats, &QAbstractItemModel::dataChanged, this, [this] {
    if (currentIndex().isValid()) Q_EMIT chosen(currentIndex().data().toString());
    const int row = heats_->current_row();
    if (row >= 0 && !hasFocus()) scrollTo(heats_->index(row));
  });
  fit();
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

ProgressStrip::ProgressStrip(QWidget* parent)
    : QFrame(parent),
      title_(new QLabel),
      current_(new LineLabel),
      left_(new QLabel),
      bar_(new QProgressBar),
      pause_button_(new QPushButton),
      heats_button_(new QToolButton),
      pause_(new QAction(tr("Pause run"), this)),
      go_to_heats_(new QAction(tr("Go to the run's heats"), this)),
      heats_view_(new HeatsView(&heats_)),
      legend_(new HeatsLegend(&heats_)),
      chosen_(new QLabel),
      grid_(new QWidget) {
  setFrameShape(QFrame::StyledPanel);
  setAccessibleName(tr("Live run"));
  build_actions();
  set_text(title_, TextSize::heading);
  bar_->setTextVisible(false);
  bar_->setFixedHeight(10);
  bar_->setAccessibleName(tr("Share of the run's time"));
  title_->setTextFormat(Qt::PlainText);
  auto* line = new FlowLayout;
  line->addWidget(title_);
  line->addWidget(left_);
  line->addWidget(pause_button_);
  line->addWidget(heats_button_);

  chosen_->setObjectName(QStringLiteral("chosen_heat"));
  chosen_->setTextFormat(Qt::PlainText);
  chosen_->setWordWrap(true);
  chosen_->hide();
  auto* grid = new QVBoxLayout(grid_);
  grid->addWidget(heats_view_);
  grid->addWidget(legend_);
  grid->addWidget(chosen_);
  connect(heats_view_, &HeatsView::chosen, chosen_, [this](const QString& sentence) {
    chosen_->setText(sentence);
    chosen_->setVisible(!sentence.isEmpty());
  });

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(space::margin, space::gap, space::gap, space::gap);
  layout->addLayout(line);
  layout->addWidget(bar_);
  layout->addWidget(current_);
  layout->addWidget(grid_);
  set_live(false);
  hide();
}

void ProgressStrip::build_actions() {
  pause_->setShortcut(QKeySequence(tr("Ctrl+P")));
  go_to_heats_->setShortcut(QKeySequence(tr("Ctrl+H")));
  pause_button_->setObjectName(QStringLiteral("pause_run"));
  heats_button_->setObjectName(QStringLiteral("show_heats"));
  heats_button_->setText(tr("Heats"));
  heats_button_->setToolTip(tr("Shows every heat as a square (Ctrl+H)"));
  heats_button_->setCheckable(true);
  heats_button_->setFocusPolicy(Qt::StrongFocus);
  connect(heats_button_, &QToolButton::clicked, this, [this](bool wanted) {
    heats_requested_ = wanted;
    set_live(!uuid_.isEmpty());
  });
  connect(go_to_heats_, &QAction::triggered, this, [this] {
    heats_requested_ = true;
    set_live(!uuid_.isEmpty());
  });
  connect(pause_button_, &QPushButton::clicked, pause_, &QAction::trigger);
  connect(pause_, &QAction::triggered, this, [this] {
    const bool waits = pause_requested_.value_or(is_paused(progress_) || is_pausing(progress_));
    pause_requested_ = !waits;
    show_pause(progress_);
    if (waits) {
      Q_EMIT continue_requested(uuid_);
    } else {
      Q_EMIT pause_requested(uuid_);
    }
  });
}

void ProgressStrip::set_live(bool live) {
  pause_->setEnabled(live);
  pause_button_->setVisible(live);
  constexpr int least_lines = 52;  // of a window where the heats leave enough room for the charts
  const bool has_heats = live && heats_.rowCount() > 0;
  const bool shown =
      heats_requested_.value_or(window()->height() >= least_lines * fontMetrics().lineSpacing());
  heats_button_->setVisible(has_heats);
  heats_button_->setChecked(shown);
  grid_->setVisible(has_heats && shown);
  go_to_heats_->setEnabled(has_heats);
}

void ProgressStrip::show_starting() {
  uuid_.clear();
  title_->setText(tr("Starting…"));
  current_->hide();
  left_->clear();
  bar_->setRange(0, 1);
  bar_->setValue(0);
  heats_.set_heats(nullptr);
  set_live(false);
  show();
}

void ProgressStrip::show_run(const RunEntry* live, Time now) {
  if (!live) {
    uuid_.clear();
    heats_.set_heats(nullptr);
    set_live(false);
    hide();
    return;
  }
  const QString uuid = qstring(live->info.id.uuid);
  if (uuid != uuid_) {
    uuid_ = uuid;
    heats_.set_heats(nullptr);
    bar_->setValue(0);
    seen_.reset();
    seconds_seen_ = 0;
    allow_again();
  }
  progress_ = live->progress.value_or(
      Progress{live->info.heats_done, live->info.start.heats_planned, {}, {}});
  title_->setText(tr("%1: heat %2 of %3")
                      .arg(shortened(qstring(title_of(live->info)), 40))
                      .arg(std::min(progress_.heats_done + 1, progress_.heats_planned))
                      .arg(progress_.heats_planned));
  show_share(now);
  // The time left is an estimate; beyond it, none is left.
  const std::optional<double>& left = progress_.seconds_left;
  left_->setText(!left        ? QString()
                 : *left >= 1 ? tr("about %1 left").arg(duration_text(*left))
                              : tr("taking longer than estimated"));
  show_pause(progress_);
  set_live(true);
  show();
}

void ProgressStrip::show_share(Time now) {
  constexpr int all = 1000;
  bar_->setRange(0, all);
  const double heats = static_cast<double>(progress_.heats_done) /
                       static_cast<double>(std::max(1, progress_.heats_planned));
  if (!seen_ && seconds_seen_ == 0) share_at_first_ = heats;
  if (!progress_.seconds_left) {  // the run waits
    seen_.reset();
    return;
  }
  if (seen_) seconds_seen_ += std::chrono::duration<double>(now - *seen_).count();
  seen_ = now;
  const double whole = seconds_seen_ + *progress_.seconds_left;
  const double own = whole > 0 ? seconds_seen_ / whole : 0;
  // The bar does not move back when the estimate grows.
  const auto share = static_cast<int>(all * (share_at_first_ + (1 - share_at_first_) * own));
  bar_->setValue(std::clamp(share, bar_->value(), all));
}

void ProgressStrip::show_pause(const Progress& progress) {
  const bool reported = is_paused(progress) || is_pausing(progress);
  if (pause_requested_ == reported) pause_requested_.reset();
  const bool waits = pause_requested_.value_or(reported);
  pause_->setText(waits ? tr("Continue run") : tr("Pause run"));
  pause_->setToolTip(waits ? tr("Continue the run")
                           : tr("Pause after the current heat; the worker's memory is then freed"));
  pause_button_->setText(pause_->text());
  pause_button_->setToolTip(
      QStringLiteral("%1 (%2)").arg(pause_->toolTip(), pause_->shortcut().toString()));
  QString now = qstring(progress.current);
  if (waits && !reported) now += qstring(pausing_words);
  current_->setText(now);
  current_->setVisible(!now.isEmpty());
  current_->setToolTip(now);
}

void ProgressStrip::show_heats(const HeatsPointer& heats) {
  const bool own = heats && heats->uuid == uuid_;
  heats_.set_heats(own ? heats : nullptr);
  set_live(!uuid_.isEmpty());
}

void ProgressStrip::allow_again() {
  pause_requested_.reset();
  show_pause(progress_);
}

QString ProgressStrip::text() const {
  return QStringList{title_->text(), current_->text(), left_->text()}.join(QLatin1Char(' '));
}

}  // namespace attnscope::gui
