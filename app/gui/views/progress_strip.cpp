// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/progress_strip.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <algorithm>

#include "app/gui/session/sweep_draft.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {

ProgressStrip::ProgressStrip(QWidget* parent)
    : QFrame(parent),
      title_(new QLabel),
      current_(new QLabel),
      left_(new QLabel),
      bar_(new QProgressBar),
      cancel_(new QPushButton(tr("Cancel run"))) {
  setFrameShape(QFrame::StyledPanel);
  setAccessibleName(tr("Live run"));
  QFont bold = title_->font();
  bold.setBold(true);
  title_->setFont(bold);
  bar_->setTextVisible(false);
  bar_->setFixedHeight(10);
  bar_->setMinimumWidth(120);
  bar_->setAccessibleName(tr("Heats done"));
  current_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  cancel_->setObjectName(QStringLiteral("cancel_run"));
  cancel_->setToolTip(tr("Stop after the current iteration; finished heats stay"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 6, 8, 6);
  layout->setSpacing(12);
  layout->addWidget(title_);
  layout->addWidget(bar_, 1);
  layout->addWidget(current_, 2);
  layout->addWidget(left_);
  layout->addWidget(cancel_);
  connect(cancel_, &QPushButton::clicked, this, [this] {
    cancel_->setEnabled(false);
    cancel_->setText(tr("Stopping…"));
    Q_EMIT cancel_asked(uuid_);
  });
  hide();
}

void ProgressStrip::show_starting() {
  uuid_.clear();
  title_->setText(tr("Starting…"));
  current_->clear();
  left_->clear();
  bar_->setRange(0, 1);
  bar_->setValue(0);
  cancel_->hide();
  show();
}

void ProgressStrip::show_run(const RunEntry* live) {
  if (!live) {
    uuid_.clear();
    hide();
    return;
  }
  const QString uuid = words(live->info.id.uuid);
  if (uuid != uuid_) {
    uuid_ = uuid;
    allow_cancel();
  }
  const Progress progress = live->progress.value_or(
      Progress{live->info.heats_done, live->info.start.heats_planned, {}, {}});
  title_->setText(tr("%1: heat %2 of %3")
                      .arg(words(title_of(live->info)))
                      .arg(std::min(progress.heats_done + 1, progress.heats_planned))
                      .arg(progress.heats_planned));
  bar_->setRange(0, std::max(1, progress.heats_planned));
  bar_->setValue(progress.heats_done);
  current_->setText(words(progress.current));
  current_->setToolTip(current_->text());
  left_->setText(progress.seconds_left
                     ? tr("about %1 left").arg(duration_words(*progress.seconds_left))
                     : QString());
  cancel_->show();
  show();
}

void ProgressStrip::allow_cancel() {
  cancel_->setEnabled(true);
  cancel_->setText(tr("Cancel run"));
}

QString ProgressStrip::text() const {
  return QStringList{title_->text(), current_->text(), left_->text()}.join(QLatin1Char(' '));
}

}  // namespace attnscope::gui
