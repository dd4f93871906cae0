// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/comparison_view.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QClipboard>
#include <QLabel>
#include <QListView>
#include <QSettings>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>

#include "app/gui/charts/run_chart.h"
#include "app/gui/main_window.h"
#include "app/gui/session/text.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class ComparisonViewTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<ComparisonView> view_;

  /// Two runs of the fixture; the second has one cell that takes ten times as long.
  [[nodiscard]] ComparisonPointer made_up(const std::vector<std::int64_t>& lengths_b) const {
    Store store = open_store(folder_->filePath(u"a.db"_s).toStdString());
    const RunId a = add_done_run(store, "first", {64, 128});
    const RunId b = begin_run_with(store, "second", {}, static_cast<int>(lengths_b.size()));
    int index = 0;
    for (const std::int64_t tokens : lengths_b) {
      HeatResult heat = made_up_heat(index, tokens, three_contenders());
      if (index++ == 0)
        for (Sample& sample : heat.cells[0].samples) sample.time_ns *= 10;
      if (!store.add_heat(b, heat)) qFatal("the heat was not stored");
    }
    auto snapshot = std::make_shared<ComparisonSnapshot>();
    snapshot->uuid_a = qstring(a.uuid);
    snapshot->uuid_b = qstring(b.uuid);
    snapshot->comparison = report::compare_runs(store, store.find_run(a.uuid).value(), store,
                                                store.find_run(b.uuid).value())
                               .value();
    return snapshot;
  }
  [[nodiscard]] QTableView* table() const { return view_->findChild<QTableView*>(); }
  [[nodiscard]] QString text(int row, int column) const {
    return table()->model()->index(row, column).data().toString();
  }

 private Q_SLOTS:

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    view_ = std::make_unique<ComparisonView>();
    view_->resize(900, 500);
    view_->show();
  }

  void FollowsTheRulesOfItemModels() {
    ComparisonModel model;
    const QAbstractItemModelTester tester(&model);
    model.set_comparison(made_up({64, 128}));
    QCOMPARE(model.rowCount(), 6);
    model.set_comparison(nullptr);
    QCOMPARE(model.rowCount(), 0);
  }

  void ListsSharedCellsWithVerdicts() {
    view_->show_comparison(made_up({64, 128}));
    QCOMPARE(table()->model()->rowCount(), 6);
    QCOMPARE(text(0, ComparisonModel::contender), u"full/dense"_s);
    QVERIFY(text(0, ComparisonModel::ratio).startsWith(u'+'));
    QCOMPARE(text(1, ComparisonModel::ratio), u"no difference shown"_s);
    const auto* notes = view_->findChild<QLabel*>(u"comparison_notes"_s);
    QVERIFY(!notes->text().contains(u"attnscope run"_s));
    QVERIFY(notes->text().contains(u"slower in 1"_s));
  }

  void ExportsTheChartOfRatios() {
    view_->show_comparison(made_up({64, 128}));
    const report::Figure& figure = view_->chart()->figure();
    QCOMPARE(figure.series.size(), std::size_t{3});
    QCOMPARE(figure.line_at, std::optional(1.0));
    QVERIFY(std::abs(figure.series.front().points.front().y - 10) < 1e-6);
    QVERIFY(view_->has_figure());
    QTest::keyClick(view_->chart(), Qt::Key_E);
    auto* dialog = view_->findChild<FigureDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    dialog->reject();
    view_->show_comparison(made_up({512}));
    QVERIFY(!view_->has_figure() && !view_->chart()->isVisible());
  }

  void ShowsOnlyDifferencesByKeyboard() {
    view_->show_comparison(made_up({64, 128}));
    auto* only = view_->findChild<QCheckBox*>(u"comparison_only"_s);
    only->setFocus();
    QTest::keyClick(only, Qt::Key_Space);
    QCOMPARE(table()->model()->rowCount(), 1);
    QTest::keyClick(only, Qt::Key_Space);
    QCOMPARE(table()->model()->rowCount(), 6);
  }

  void SortsByRatio() {
    view_->show_comparison(made_up({64, 128}));
    table()->sortByColumn(ComparisonModel::ratio, Qt::DescendingOrder);
    QVERIFY(text(0, ComparisonModel::ratio).startsWith(u'+'));
  }

  void SwapsTheRuns() {
    const ComparisonPointer shown = made_up({64});
    view_->show_comparison(shown);
    const QSignalSpy requested(view_.get(), &ComparisonView::swap_requested);
    QTest::mouseClick(view_->findChild<QToolButton*>(u"comparison_swap"_s), Qt::LeftButton);
    QCOMPARE(requested.count(), 1);
    QCOMPARE(requested[0][0].toString(), shown->uuid_b);
    QCOMPARE(requested[0][1].toString(), shown->uuid_a);
  }

  void ExplainsRunsWithoutASharedCell() {
    view_->show_comparison(made_up({512}));
    QCOMPARE(table()->model()->rowCount(), 0);
    const auto* notes = view_->findChild<QLabel*>(u"comparison_notes"_s);
    QVERIFY(notes->text().contains(u"Choose runs of the same sweep"_s));
  }

  void ComparesTwoRunsByKeyboard() {
    const std::string database = folder_->filePath(u"both.db"_s).toStdString();
    {
      Store store = open_store(database);
      (void)add_done_run(store, "same", {64, 128});
      (void)add_done_run(store, "same", {64, 128});
    }
    QSettings().clear();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    MainWindow window({.database = database});
    window.show();
    QTRY_COMPARE(window.runs().rowCount(), 2);
    QListView* list = window.compare()->run_list()->list();
    list->setFocus();
    list->selectAll();
    QTest::keyClick(list, Qt::Key_D, Qt::ControlModifier);
    ComparisonView* comparison = window.compare()->comparison_view();
    QTRY_VERIFY(comparison->isVisible());
    QCOMPARE(comparison->findChild<QTableView*>()->model()->rowCount(), 6);
    QCOMPARE(comparison->findChild<QLabel*>(u"comparison_title"_s)->text(),
             u"B: 2 same against A: 1 same"_s);
    QTest::keyClick(comparison->findChild<QToolButton*>(u"comparison_back"_s), Qt::Key_Escape);
    QTRY_VERIFY(!comparison->isVisible());
    QVERIFY(window.compare()->run_view()->isVisible());
  }

  void CopiesTheTableInEveryFormat() {
    view_->show_comparison(made_up({64, 128}));
    view_->copy_table(report::TableFormat::csv);
    QCOMPARE(QApplication::clipboard()->text().count(u"\r\n"_s), 7);
    view_->copy_table(report::TableFormat::markdown);
    QVERIFY(QApplication::clipboard()->text().startsWith(u"| setting |"_s));
  }
};

ATTNSCOPE_GUI_TEST(ComparisonViewTest)

}  // namespace attnscope::gui
#include "comparison_view_test.moc"
