// SPDX-License-Identifier: GPL-3.0-or-later
//
// The part of RunChart that offers its tools: the context menu and the table behind the chart. The
// keys are the chart's own (see RunChart::event), so the menu shows them as text.
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>

#include "app/gui/charts/figure_table.h"
#include "app/gui/charts/run_chart.h"

namespace attnscope::charts {
namespace {

QString with_key(const QString& text, const char* key) {
  return text + QLatin1Char('\t') + QLatin1String(key);
}

}  // namespace

QMenu* RunChart::make_menu() {
  auto* menu = new QMenu(this);
  menu->setObjectName(QStringLiteral("chart_menu"));
  const auto add = [&](const char* name, const QString& text, const char* key, auto act) {
    QAction* action = menu->addAction(with_key(text, key), this, act);
    action->setObjectName(QLatin1String(name));
    return action;
  };
  const bool drawn = has_plot();
  add("export_figure", tr("Export figure…"), "E", &RunChart::export_wanted)->setEnabled(drawn);
  add("copy_numbers", tr("Copy numbers"), "Ctrl+C", &RunChart::copy_numbers)->setEnabled(drawn);
  add("show_table", tr("Numbers as a table"), "T", &RunChart::show_table)->setEnabled(drawn);
  menu->addSeparator();
  QAction* intervals =
      add("intervals", tr("Interval bars"), "I", [this](bool on) { choose_intervals(on); });
  intervals->setCheckable(true);
  intervals->setChecked(intervals_);
  QAction* crossovers =
      add("crossovers", tr("Crossovers"), "X", [this](bool on) { choose_crossovers(on); });
  crossovers->setCheckable(true);
  crossovers->setChecked(crossovers_);
  crossovers->setEnabled(!figure_.marks.empty());
  if (figure_.marks.empty()) {
    crossovers->setToolTip(tr("No contender here crosses the baseline, or there is none."));
  }
  add_scale_menu(*menu, tr("Horizontal scale"), true);
  add_scale_menu(*menu, tr("Vertical scale"), false);
  menu->addSeparator();
  add("zoom_in", tr("Zoom in"), "+", [this] { zoom(1.5); })->setEnabled(drawn);
  add("zoom_out", tr("Zoom out"), "-", [this] { zoom(1 / 1.5); })->setEnabled(is_zoomed());
  add("reset_zoom", tr("Reset zoom"), "0", &RunChart::reset_zoom)->setEnabled(is_zoomed());
  return menu;
}

void RunChart::add_scale_menu(QMenu& menu, const QString& title, bool along_x) {
  QMenu* scales = menu.addMenu(title);
  scales->setObjectName(along_x ? QStringLiteral("x_scale") : QStringLiteral("y_scale"));
  auto* group = new QActionGroup(scales);
  const OptionalScale chosen = along_x ? x_scale_ : y_scale_;
  const auto add = [&](const QString& text, OptionalScale scale) {
    QAction* action = scales->addAction(text, this, [this, along_x, scale] {
      if (!along_x) return set_y_scale(scale);
      set_x_scale(scale);
      Q_EMIT x_scale_chosen(scale);
    });
    action->setCheckable(true);
    action->setChecked(chosen == scale);
    action->setObjectName(scale ? QString::fromUtf8(report::name_of(*scale).data())
                                : QStringLiteral("own_scale"));
    group->addAction(action);
  };
  add(tr("As suits the values"), std::nullopt);
  add(tr("Linear"), report::Scale::linear);
  add(tr("Logarithmic, powers of 2"), report::Scale::log2);
  add(tr("Logarithmic, powers of 10"), report::Scale::log10);
}

void RunChart::contextMenuEvent(QContextMenuEvent* event) {
  QMenu* menu = make_menu();
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setToolTipsVisible(true);
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const QPoint there = current_ ? current_->position.toPoint() : rect().center();
  menu->popup(by_key ? mapToGlobal(there) : event->globalPos());
}

void RunChart::choose_intervals(bool shown) {
  set_intervals_shown(shown);
  Q_EMIT intervals_chosen(shown);
}

void RunChart::choose_crossovers(bool shown) {
  set_crossovers_shown(shown);
  Q_EMIT crossovers_chosen(shown);
}

void RunChart::copy_numbers() const {
  if (figure_.series.empty()) return;
  QApplication::clipboard()->setText(FigureTableModel::text_of(shown_figure()));
}

QDialog* RunChart::table_window() const {
  return table_;
}

void RunChart::show_table() {
  if (!has_plot()) return;
  if (!table_) {
    auto* table = new FigureTable(this);
    connect(this, &RunChart::changed, table, [this, table] { table->show_figure(shown_figure()); });
    table->show_figure(shown_figure());
    table_ = table;
  }
  table_->show();
  table_->raise();
  table_->activateWindow();
}

}  // namespace attnscope::charts
