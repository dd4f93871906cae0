// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/chart_screenshots.h"

#include <QDialog>
#include <QtTest>
#include <cstdio>
#include <memory>

#include "app/gui/charts/figure_table.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/figure_dialog.h"
#include "engine/report/answer.h"
#include "engine/report/run_figures.h"
#include "engine/store/store.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

/// The rows of the first setting, against the first contender.
Result<report::Table> first_setting(const Store& store) {
  const auto run = store.find_run("last");
  if (!run) return tl::unexpected(run.error());
  auto table = report::make_answer_table(store, *run, std::nullopt, {}, report::XAxis::length);
  if (!table) return table;
  const auto settings = report::rows_by_setting(*table, report::XAxis::length);
  report::Table first = report::without_rows(*table);
  if (settings.empty()) return first;
  for (const report::Row* row : settings.front()) first.rows.push_back(*row);
  return first;
}

bool shoot_views(const report::Table& table, const QString& folder, const QString& suffix) {
  bool saved = true;
  for (const report::View& view : report::views()) {
    auto figure = report::make_figure(table, report::XAxis::length, view.y);
    if (!figure) continue;
    report::mark_crossovers(*figure, table, report::XAxis::length, view.y);
    charts::RunChart chart;
    chart.set_contenders(table.contenders);
    chart.set_figure(*figure);
    chart.resize(QSize(620, 520).expandedTo(chart.minimumSizeHint()));
    chart.show();
    saved = save(chart, folder + u"/chart-"_s + qstring(view.key) + suffix) && saved;
    if (view.y != report::YAxis::time) continue;
    for (int i = 0; i < 3; ++i) QTest::keyClick(&chart, Qt::Key_Plus);
    saved = save(chart, folder + u"/chart-zoomed"_s + suffix) && saved;
    QTest::keyClick(&chart, Qt::Key_T);
    saved = save(*chart.findChild<QDialog*>(), folder + u"/chart-table"_s + suffix) && saved;
    FigureDialog dialog(charts::printable(*figure), chart.shown_options(), u"time"_s);
    dialog.setAttribute(Qt::WA_DeleteOnClose, false);
    dialog.show();
    const bool painted =
        QTest::qWaitFor([&] { return !dialog.preview()->image().isNull(); }, timeout_ms);
    saved = save(dialog, folder + u"/figure-dialog"_s + suffix) && painted && saved;
  }
  return saved;
}

}  // namespace

bool shoot_charts(const std::filesystem::path& database, const QString& folder,
                  const QString& suffix) {
  const auto store = Store::open(database, Store::Mode::read_only);
  const auto table = store ? first_setting(*store) : tl::unexpected(store.error());
  if (!table) {
    std::fprintf(stderr, "%s\n", table.error().message.c_str());
    return false;
  }
  bool saved = shoot_views(*table, folder, suffix);
  const auto facets =
      report::make_facets(*table, report::XAxis::length,
                          {report::YAxis::time, report::YAxis::memory}, "implementation");
  if (facets) {
    charts::RunChart view;
    view.set_contenders(table->contenders);
    view.set_facets(*facets);
    view.resize(1000, 650);
    view.show();
    saved = save(view, folder + u"/facets"_s + suffix) && saved;
  }
  return saved;
}

}  // namespace attnscope::gui
