// SPDX-License-Identifier: Apache-2.0
//
// The papers' tables and the runs that ship: models, the folder they are found in, and the page.
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QSettings>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>

#include "app/gui/main_window.h"
#include "app/gui/models/run_list_model.h"
#include "app/gui/session/program.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/comparison_view.h"
#include "app/gui/views/page.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

std::vector<PublishedRun> one_run() {
  PublishedRun run;
  run.file = QStringLiteral("/somewhere/run.attn");
  run.entry.info.id.uuid = "a-uuid";
  run.entry.info.start = new_run("paper-fig2a", 4);
  run.entry.info.status = RunStatus::done;
  return {run};
}

class PublishedTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<MainWindow> window_;

  [[nodiscard]] std::filesystem::path path(const char* name) const {
    return folder_->filePath(QLatin1String(name)).toStdString();
  }
  void open_window() {
    window_ = std::make_unique<MainWindow>(WindowOptions{.database = path("attnscope.db")});
    window_->resize(1280, 800);
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    QTRY_VERIFY_WITH_TIMEOUT(!panel()->published().first_run().isEmpty(), patience_ms);
  }
  [[nodiscard]] ComparePage* page() const { return window_->compare(); }
  [[nodiscard]] RunListPanel* panel() const { return page()->run_list(); }
  [[nodiscard]] QListView* list() const { return panel()->list(RunListPanel::published_section); }

 private Q_SLOTS:

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    QSettings().clear();
  }
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
    QCOMPARE(model.listed(model.first_run())->file, QStringLiteral("/somewhere/run.attn"));
    QCOMPARE(model.index_of(QStringLiteral("a-uuid")).row(), tables);
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
    QCOMPARE(text(2, 0), QStringLiteral("sparse/segment/4"));
    QCOMPARE(text(2, 3), QStringLiteral("5.00 ms"));
    QCOMPARE(text(2, 4), QStringLiteral("8.00 ms"));
    QCOMPARE(text(2, 6), QStringLiteral("66.0 MB"));
    view.show_run(nullptr);
    QCOMPARE(model.rowCount(), 0);
  }

  void PrefersTheInstalledResults() {
    const auto make = [this](const char* name) { std::filesystem::create_directories(path(name)); };
    make("source/build/release/tests");
    QCOMPARE(results_folder(path("source/build/release")), std::filesystem::path());
    make("source/results");
    QCOMPARE(results_folder(path("source/build/release")), std::filesystem::path());
    make("source/resources/reference");
    QCOMPARE(results_folder(path("source/build/release")), path("source/results"));
    QCOMPARE(results_folder(path("source/build/release/tests")), path("source/results"));
    make("prefix/share/attnscope/results");
    QCOMPARE(results_folder(path("prefix/bin")), path("prefix/share/attnscope/results"));
    QCOMPARE(results_folder(path("nowhere/bin")), std::filesystem::path());
  }

  void ShowsPublishedRunsReadOnly() {
    open_window();
    QTRY_VERIFY_WITH_TIMEOUT(
        page()->run_view()->run() && !page()->run_view()->run()->table.rows.empty(), patience_ms);
    QVERIFY(page()->run_view()->isVisible());
    QCOMPARE(panel()->section(), RunListPanel::published_section);
    QVERIFY(page()->place()->text().contains(QStringLiteral("read-only")));
    QCOMPARE(window_->runs().rowCount(), 0);
    // One's own section is still empty, and says what to do.
    panel()->show_section(RunListPanel::runs_section);
    auto* look = page()->findChild<QPushButton*>(QStringLiteral("look_at_published"));
    QTRY_VERIFY(look != nullptr && look->isVisible());
    QTest::mouseClick(look, Qt::LeftButton);
    QTRY_VERIFY(page()->run_view()->isVisible());
  }

  void OffersTheQuickSweepAtTheFirstStart() {
    open_window();
    QTRY_VERIFY_WITH_TIMEOUT(page()->place()->isVisible(), patience_ms);
    const QSignalSpy requested(page(), &ComparePage::quick_sweep_requested);
    QTest::mouseClick(page()->place()->fix_button(), Qt::LeftButton);
    QCOMPARE(requested.count(), 1);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
    QTRY_COMPARE(panel()->section(), RunListPanel::runs_section);
  }

  void CopiesAPublishedRun() {
    {
      Store store = open_store(path("attnscope.db"));
      static_cast<void>(add_done_run(store, "mine", {64}));
    }
    open_window();
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
    QTRY_VERIFY(!panel()->published().first_run().isEmpty());
    panel()->choose(panel()->published().first_run());
    QTRY_VERIFY(page()->place()->isVisible());
    const auto* again = page()->findChild<QPushButton*>(QStringLiteral("measure_disturbed_again"));
    QTRY_VERIFY(page()->run_view()->run() &&
                page()->run_view()->run()->request.uuid == panel()->published().first_run());
    QVERIFY(again->isHidden());
    QTest::mouseClick(page()->place()->fix_button(), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 2, patience_ms);
    QVERIFY(window_->runs().index_of(panel()->published().first_run()).isValid());
  }

  void CopiesATableByKeys() {
    open_window();
    QTRY_VERIFY_WITH_TIMEOUT(page()->place()->isVisible(), patience_ms);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::AltModifier);
    QTRY_VERIFY(list()->isVisible() && list()->hasFocus());
    QTest::keyClick(list(), Qt::Key_Home);
    QTRY_VERIFY(page()->published_view()->isVisible());
    QCOMPARE(page()->published_view()->shown().id, std::string_view("ecir24-table1"));
    QTest::keyClick(list(), Qt::Key_Down);
    QCOMPARE(page()->published_view()->shown().id, std::string_view("ecir24-table3"));
    auto* label = page()->findChild<QLabel*>(QStringLiteral("published_label"));
    QCOMPARE(label->text(), QStringLiteral("published, not measured here"));
    QVERIFY(page()->has_table());
    QVERIFY(!page()->has_figure());
    page()->copy_table(report::TableFormat::csv);
    QVERIFY(QGuiApplication::clipboard()->text().contains(QStringLiteral("time_us_per_document")));
    QVERIFY(QGuiApplication::clipboard()->text().contains(QStringLiteral("not measured here")));
  }

  void ShowsTable3InATab() {
    {
      Store store = open_store(path("attnscope.db"));
      static_cast<void>(add_done_run(store, "mine", {64, 4096}));
    }
    open_window();
    window_->resize(1000, 650);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
    const SideBySideView* alongside = page()->side_by_side_view();
    QVERIFY(!alongside->isVisible());
    QTabBar* tabs = page()->run_view()->tabs()->tabBar();
    QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(tabs->count() - 1).center());
    QTRY_VERIFY(alongside->isVisible());
    const auto* table = alongside->findChild<QTableView*>();
    QTRY_COMPARE_WITH_TIMEOUT(table->model()->rowCount(), 3, patience_ms);
    QTRY_VERIFY(table->viewport()->height() >= 3 * table->rowHeight(0));
    QVERIFY(alongside->findChild<QLabel*>(QStringLiteral("side_by_side_words"))
                ->text()
                .contains(QStringLiteral("not measured here")));
  }
};

ATTNSCOPE_GUI_TEST(PublishedTest)

}  // namespace attnscope::gui
#include "published_test.moc"
