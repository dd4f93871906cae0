// SPDX-License-Identifier: Apache-2.0
//
// The published tables and runs: models, their folder and the page.
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/program.h"
#include "app/gui/views/comparison_view.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

std::vector<PublishedRun> one_run() {
  PublishedRun run;
  run.file = u"/somewhere/run.attn"_s;
  run.entry.info.id.uuid = "a-uuid";
  run.entry.info.start = new_run("paper-fig2a", 4);
  run.entry.info.status = RunStatus::done;
  return {run};
}

class PublishedTest : public WindowSuite {
  Q_OBJECT

  void open_published() {
    open_window();
    QTRY_VERIFY(!panel()->published().first_run().isEmpty());
  }
  [[nodiscard]] QListView* list() const { return panel()->list(RunListPanel::published_section); }
  [[nodiscard]] std::filesystem::path in(const char* name) const {
    return path(name).toStdString();
  }

 private Q_SLOTS:
  void init() { reset(); }
  void cleanup() { window_.reset(); }

  void FollowsTheRulesOfItemModels() {
    RunListModel model;
    QAbstractItemModelTester tester(&model);
    model.set_published({});
    const int tables = model.rowCount();
    QCOMPARE(tables, 4);
    QVERIFY(model.first_run().isEmpty());
    model.set_published(one_run());
    QCOMPARE(model.rowCount(), tables + 1);
    const QString first = model.index(0).data(RunListModel::uuid_role).toString();
    QVERIFY(model.listed(first)->table && !model.entry(first));
    QCOMPARE(model.listed(model.first_run())->file, u"/somewhere/run.attn"_s);
    QCOMPARE(model.index_of(u"a-uuid"_s).row(), tables);
    model.set_published({});
    QCOMPARE(model.rowCount(), tables);
  }

  void ShowsRowsAndUnits() {
    PublishedView view;
    QAbstractItemModel& model = *view.findChild<QTableView*>()->model();
    const QAbstractItemModelTester tester(&model);
    for (const report::PublishedTable& table : report::published_tables()) {
      view.show_table(table);
      QCOMPARE(model.rowCount(), static_cast<int>(table.rows.size()));
      QCOMPARE(model.columnCount(), static_cast<int>(table.columns.size()));
      for (int column = 0; column < model.columnCount(); ++column)
        QVERIFY(!model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
    }
  }

  void PairsMeasuredAndPublishedCells() {
    auto run = std::make_shared<RunSnapshot>();
    const HeatResult heat = made_up_heat(0, 4096, three_contenders());
    for (const Cell& cell : heat.cells) {
      report::Row& row = run->table.rows.emplace_back();
      row.cell.point = heat.point;
      row.cell.cell = cell;
      row.cell.summary = {.median_ns = 5e6, .samples = 10, .placements = 2};
    }
    SideBySideView view;
    QAbstractItemModel& model = *view.findChild<QTableView*>()->model();
    const QAbstractItemModelTester tester(&model);
    view.show_run(run);
    QCOMPARE(model.rowCount(), 3);  // full twice, sparse at w = 4
    const auto text = [&](int row, int column) {
      return model.index(row, column).data().toString();
    };
    QCOMPARE(text(2, 0), u"sparse/segment/4"_s);
    QCOMPARE(text(2, 3), u"5.00 ms"_s);
    QCOMPARE(text(2, 4), u"8.00 ms"_s);
    QCOMPARE(text(2, 6), u"66.0 MB"_s);
    view.show_run(nullptr);
    QCOMPARE(model.rowCount(), 0);
  }

  void PrefersTheInstalledResults() {
    const auto make = [this](const char* name) { std::filesystem::create_directories(in(name)); };
    make("source/build/release/tests");
    QCOMPARE(results_folder(in("source/build/release")), std::filesystem::path());
    make("source/results");
    QCOMPARE(results_folder(in("source/build/release")), std::filesystem::path());
    make("source/resources/reference");
    QCOMPARE(results_folder(in("source/build/release")), in("source/results"));
    QCOMPARE(results_folder(in("source/build/release/tests")), in("source/results"));
    make("prefix/share/attnscope/results");
    QCOMPARE(results_folder(in("prefix/bin")), in("prefix/share/attnscope/results"));
    QCOMPARE(results_folder(in("nowhere/bin")), std::filesystem::path());
  }

  void ShowsPublishedRunsReadOnlyAtTheFirstStart() {
    open_published();
    QTRY_VERIFY(shows_rows());
    QVERIFY(view()->isVisible());
    QCOMPARE(panel()->section(), RunListPanel::published_section);
    QVERIFY(page()->place()->text().contains(u"read-only"_s));
    QCOMPARE(window_->runs().rowCount(), 0);
    // The section of runs is still empty and explains what to do.
    panel()->show_section(RunListPanel::runs_section);
    auto* look = page()->findChild<QPushButton*>(u"look_at_published"_s);
    QTRY_VERIFY(look != nullptr && look->isVisible());
    QTest::mouseClick(look, Qt::LeftButton);
    QTRY_VERIFY(view()->isVisible());
    // The quick sweep is offered and adds the first run.
    const QSignalSpy requested(page(), &ComparePage::quick_sweep_requested);
    QTest::mouseClick(page()->place()->fix_button(), Qt::LeftButton);
    QCOMPARE(requested.count(), 1);
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    QTRY_COMPARE(panel()->section(), RunListPanel::runs_section);
  }

  void CopiesAPublishedRun() {
    add_runs({"mine"});
    open_published();
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    QTRY_VERIFY(!panel()->published().first_run().isEmpty());
    panel()->choose(panel()->published().first_run());
    QTRY_VERIFY(page()->place()->isVisible());
    const auto* again = page()->findChild<QPushButton*>(u"measure_disturbed_again"_s);
    QTRY_VERIFY(view()->run() && view()->run()->request.uuid == panel()->published().first_run());
    QVERIFY(again->isHidden());
    QTest::mouseClick(page()->place()->fix_button(), Qt::LeftButton);
    QTRY_COMPARE(window_->runs().rowCount(), 2);
    QVERIFY(window_->runs().index_of(panel()->published().first_run()).isValid());
  }

  void CopiesATableByKeys() {
    open_published();
    QTRY_VERIFY(page()->place()->isVisible());
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::AltModifier);
    QTRY_VERIFY(list()->isVisible() && list()->hasFocus());
    QTest::keyClick(list(), Qt::Key_Home);
    QTRY_VERIFY(page()->published_view()->isVisible());
    QCOMPARE(page()->published_view()->shown().id, std::string_view("ecir24-table1"));
    QTest::keyClick(list(), Qt::Key_Down);
    QCOMPARE(page()->published_view()->shown().id, std::string_view("ecir24-table3"));
    auto* label = page()->findChild<QLabel*>(u"published_label"_s);
    QCOMPARE(label->text(), u"published, not measured here"_s);
    QVERIFY(page()->has_table());
    QVERIFY(!page()->has_figure());
    page()->copy_table(report::TableFormat::csv);
    QVERIFY(QGuiApplication::clipboard()->text().contains(u"time_us_per_document"_s));
    QVERIFY(QGuiApplication::clipboard()->text().contains(u"not measured here"_s));
  }

  void ShowsTable3InATab() {
    add_runs({"mine"}, {64, 4096});
    open_published();
    window_->resize(1000, 650);
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    const SideBySideView* alongside = page()->side_by_side_view();
    QVERIFY(!alongside->isVisible());
    QTabBar* tabs = view()->tabs()->tabBar();
    QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(tabs->count() - 1).center());
    QTRY_VERIFY(alongside->isVisible());
    const auto* table = alongside->findChild<QTableView*>();
    QTRY_COMPARE(table->model()->rowCount(), 3);
    QTRY_VERIFY(table->viewport()->height() >= 3 * table->rowHeight(0));
    QVERIFY(alongside->findChild<QLabel*>(u"side_by_side_note"_s)
                ->text()
                .contains(u"not measured here"_s));
  }
};

ATTNSCOPE_GUI_TEST(PublishedTest)

}  // namespace attnscope::gui
#include "published_test.moc"
