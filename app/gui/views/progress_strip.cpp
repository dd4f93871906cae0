// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/progress_strip.h"

#include <QAction>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QToolButton>
#include <algorithm>

#include "app/gui/session/sweep_draft.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/heats_view.h"
#include "app/gui/views/theme.h"
#include "engine/sweep/pause.h"

namespace attnscope::gui {

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
  build_line();
  set_live(false);
  hide();
}

void ProgressStrip::build_line() {
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
    heats_wish_ = wanted;
    set_live(!uuid_.isEmpty());
  });
  connect(go_to_heats_, &QAction::triggered, this, [this] {
    heats_wish_ = true;
    set_live(!uuid_.isEmpty());
  });
  connect(pause_button_, &QPushButton::clicked, pause_, &QAction::trigger);
  connect(pause_, &QAction::triggered, this, [this] {
    const bool waits = pause_wish_.value_or(is_paused(progress_) || is_pausing(progress_));
    pause_wish_ = !waits;
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
      heats_wish_.value_or(window()->height() >= least_lines * fontMetrics().lineSpacing());
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
  const QString uuid = words(live->info.id.uuid);
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
                      .arg(shortened(words(title_of(live->info)), 40))
                      .arg(std::min(progress_.heats_done + 1, progress_.heats_planned))
                      .arg(progress_.heats_planned));
  show_share(now);
  // The time left is an estimate; beyond it, none is left.
  const std::optional<double>& left = progress_.seconds_left;
  left_->setText(!left        ? QString()
                 : *left >= 1 ? tr("about %1 left").arg(duration_words(*left))
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
  if (pause_wish_ == reported) pause_wish_.reset();
  const bool waits = pause_wish_.value_or(reported);
  pause_->setText(waits ? tr("Continue run") : tr("Pause run"));
  pause_->setToolTip(waits ? tr("Let the run go on")
                           : tr("Wait when this heat is done; the worker's memory is free then"));
  pause_button_->setText(pause_->text());
  pause_button_->setToolTip(
      QStringLiteral("%1 (%2)").arg(pause_->toolTip(), pause_->shortcut().toString()));
  QString now = words(progress.current);
  if (waits && !reported) now += words(pausing_words);
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
  pause_wish_.reset();
  show_pause(progress_);
}

QString ProgressStrip::text() const {
  return QStringList{title_->text(), current_->text(), left_->text()}.join(QLatin1Char(' '));
}

}  // namespace attnscope::gui
