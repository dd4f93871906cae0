// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/chart_access.h"

#include <QAccessibleWidget>

#include "app/gui/charts/run_chart.h"

namespace attnscope::charts {
namespace {

class ChartAccess : public QAccessibleWidget {
 public:
  explicit ChartAccess(RunChart* chart) : QAccessibleWidget(chart, QAccessible::Chart) {}

  [[nodiscard]] QString text(QAccessible::Text kind) const override {
    const auto* chart = static_cast<const RunChart*>(widget());
    if (chart != nullptr && kind == QAccessible::Value) return chart->current_value();
    return QAccessibleWidget::text(kind);
  }
};

QAccessibleInterface* make_access(const QString& /*class_name*/, QObject* object) {
  auto* chart = qobject_cast<RunChart*>(object);
  return chart == nullptr ? nullptr : new ChartAccess(chart);
}

}  // namespace

void install_chart_access() {
  static const bool installed = [] {
    QAccessible::installFactory(make_access);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace attnscope::charts
