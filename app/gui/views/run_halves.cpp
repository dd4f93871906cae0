// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_halves.h"

#include <QEvent>
#include <QSignalBlocker>
#include <QTabBar>
#include <QTabWidget>
#include <algorithm>

#include "app/gui/views/fields.h"

namespace attnscope::gui {

RunHalves::RunHalves(QWidget* charts, QTabWidget* tabs)
    : QSplitter(Qt::Vertical), charts_(charts), tabs_(tabs) {
  setObjectName(QStringLiteral("run_split"));
  addWidget(charts_);
  addWidget(tabs_);
  setStretchFactor(0, 68);
  setStretchFactor(1, 32);
  setSizes({680, 320});
  setChildrenCollapsible(false);
  setHandleWidth(8);
  keep_sizes(*this);
  of_charts_ = charts_->sizePolicy();
  connect(tabs_, &QTabWidget::tabBarClicked, this, [this] { charts_are_wanted_ = false; });
}

void RunHalves::bring_charts() {
  charts_are_wanted_ = true;
  if (is_folded()) tabs_->setCurrentWidget(charts_);
}

bool RunHalves::is_folded() const {
  return indexOf(charts_) < 0;
}

QSize RunHalves::minimumSizeHint() const {
  return {QSplitter::minimumSizeHint().width(), tabs_->minimumSizeHint().height()};
}

int RunHalves::least_of_tabs() const {
  const int of_page =
      lower_ == nullptr ? 0 : std::max(lower_->minimumSizeHint().height(), lower_->minimumHeight());
  return tabs_->tabBar()->sizeHint().height() + of_page;
}

void RunHalves::fold_or_unfold() {
  QWidget* front = tabs_->currentWidget();
  if (front != charts_) lower_ = front;
  // Hidden tabs request no height.
  for (int at = 0; at < tabs_->count(); ++at) {
    tabs_->widget(at)->setSizePolicy(QSizePolicy::Preferred, tabs_->widget(at) == front
                                                                 ? QSizePolicy::Preferred
                                                                 : QSizePolicy::Ignored);
  }
  if (!isVisible()) return;
  const bool was_folded = is_folded();
  // In a hidden tab, the charts have an outdated width.
  if (was_folded && !charts_->isVisible()) charts_->resize(width(), charts_->height());
  const bool folds =
      height() < charts_->minimumSizeHint().height() + handleWidth() + least_of_tabs();
  if (folds == was_folded) return;
  const QSignalBlocker quiet(tabs_);  // not a user's choice
  if (folds) {
    unfolded_ = sizes();
    tabs_->addTab(charts_, tr("Charts"));
    charts_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored);
    if (charts_are_wanted_) tabs_->setCurrentWidget(charts_);
  } else {
    tabs_->setCurrentWidget(lower_);
    tabs_->removeTab(tabs_->indexOf(charts_));
    charts_->setSizePolicy(of_charts_);
    insertWidget(0, charts_);
    charts_->show();
    setSizes(unfolded_);
  }
}

bool RunHalves::event(QEvent* event) {
  const bool done = QSplitter::event(event);
  const bool has_room_changed = event->type() == QEvent::Resize || event->type() == QEvent::Show ||
                                event->type() == QEvent::LayoutRequest;
  if (has_room_changed) fold_or_unfold();
  return done;
}

}  // namespace attnscope::gui
