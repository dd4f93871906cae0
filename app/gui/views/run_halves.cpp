// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_halves.h"

#include <QEvent>
#include <QSignalBlocker>
#include <QTabBar>
#include <QTabWidget>
#include <algorithm>
#include <cstdlib>

#include "app/gui/views/fields.h"

namespace attnscope::gui {

RunHalves::RunHalves(QWidget* charts, QTabWidget* tabs)
    : QSplitter(Qt::Vertical), charts_(charts), tabs_(tabs) {
  setObjectName(QStringLiteral("run_split"));
  addWidget(charts_);
  addWidget(tabs_);
  setStretchFactor(0, 77);
  setStretchFactor(1, 23);
  setSizes({770, 230});
  setChildrenCollapsible(false);
  setHandleWidth(8);
  keep_sizes(*this);
  of_charts_ = charts_->sizePolicy();
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
  // The tabs that lie behind ask for none.
  for (int at = 0; at < tabs_->count(); ++at) {
    tabs_->widget(at)->setSizePolicy(QSizePolicy::Preferred, tabs_->widget(at) == front
                                                                 ? QSizePolicy::Preferred
                                                                 : QSizePolicy::Ignored);
  }
  if (!isVisible()) return;
  const bool was_folded = is_folded();
  // Behind another tab they have the width of before.
  if (was_folded && !charts_->isVisible()) charts_->resize(width(), charts_->height());
  const bool folds =
      height() < charts_->minimumSizeHint().height() + handleWidth() + least_of_tabs();
  if (folds == was_folded) return;
  const QSignalBlocker quiet(tabs_);  // nobody has chosen
  if (folds) {
    unfolded_ = sizes();
    tabs_->addTab(charts_, tr("Charts"));
    charts_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored);
  } else {
    tabs_->setCurrentWidget(lower_);
    tabs_->removeTab(tabs_->indexOf(charts_));
    charts_->setSizePolicy(of_charts_);
    insertWidget(0, charts_);
    charts_->show();
    setSizes(unfolded_);
  }
}

void RunHalves::make_room(bool wants_height) {
  fold_or_unfold();
  if (is_folded()) return;
  constexpr double wanted = 0.45;
  const QList<int> now = sizes();
  const int all = now[0] + now[1],
            higher = std::max(static_cast<int>(wanted * all), tabs_->minimumSizeHint().height());
  const bool is_low = now[1] < higher - handleWidth();
  if (wants_height) {
    if (!is_low) return;
    sizes_before_ = now;
    setSizes({all - higher, higher});
  } else if (!sizes_before_.isEmpty()) {
    if (std::abs(now[1] - higher) <= handleWidth()) setSizes(sizes_before_);
    sizes_before_.clear();
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
