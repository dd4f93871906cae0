// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_above.h"

#include <QSettings>
#include <algorithm>

#include "app/gui/views/answer_panel.h"

namespace attnscope::gui {
namespace {

constexpr const char* share_setting = "answer/share";
constexpr double first_share = 1.0 / 3, least_share = 0.1, most_share = 0.9;

}  // namespace

AnswerAbove::AnswerAbove(AnswerPanel* answer, QWidget* run, QWidget* parent)
    : QSplitter(Qt::Vertical, parent),
      answer_(answer),
      share_(std::clamp(QSettings().value(QLatin1String(share_setting), first_share).toDouble(),
                        least_share, most_share)) {
  setObjectName(QStringLiteral("answer_above"));
  setChildrenCollapsible(false);
  setHandleWidth(8);
  addWidget(answer);
  addWidget(run);
  setStretchFactor(0, 0);
  setStretchFactor(1, 1);
  connect(answer_, &AnswerPanel::fold_changed, this, &AnswerAbove::share_out);
  connect(this, &QSplitter::splitterMoved, this, [this] {
    if (answer_->is_folded() || height() <= 0) return;
    share_ = std::clamp(static_cast<double>(sizes().value(0)) / height(), least_share, most_share);
    QSettings().setValue(QLatin1String(share_setting), share_);
  });
}

void AnswerAbove::resizeEvent(QResizeEvent* event) {
  QSplitter::resizeEvent(event);
  share_out();
}

void AnswerAbove::share_out() {
  handle(1)->setEnabled(!answer_->is_folded());
  const int answer =
      answer_->is_folded() ? answer_->sizeHint().height() : static_cast<int>(share_ * height());
  setSizes({answer, std::max(1, height() - answer)});
}

}  // namespace attnscope::gui
