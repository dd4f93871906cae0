// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/comparison_view.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QClipboard>
#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/figure_dialog.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class ComparisonViewTest : public StoreSuite {
  Q_OBJECT

  std::unique_ptr<ComparisonView> view_;
  ComparisonPointer shared_, disjoint_;  // runs with the same lengths and with other lengths

  /// Two runs of the fixture; the second has one cell that takes ten times as long.
  [[nodiscard]] ComparisonPointer made_up(const std::vector<std::int64_t>& lengths_b) const {
    const RunId a = add_done_run(*store_, "first", {64, 128});
    const RunId b = begin_run_with(*store_, "second", {}, static_cast<int>(lengths_b.size()));
    int index = 0;
    for (const std::int64_t tokens : lengths_b) {
      HeatResult heat = made_up_heat(index, tokens, three_contenders());
      if (index++ == 0)
        for (Sample& sample : heat.cells[0].samples) sample.time_ns *= 10;
      if (!store_->add_heat(b, heat)) qFatal("the heat was not stored");
    }
    auto snapshot = std::make_shared<ComparisonSnapshot>();
    snapshot->uuid_a = qstring(a.uuid);
    snapshot->uuid_b = qstring(b.uuid);
    snapshot->comparison =
        report::compare_runs(*store_, *store_->find_run(a.uuid), *store_, *store_->find_run(b.uuid))
            .value();
    return snapshot;
  }
  [[nodiscard]] QTableView* table() const { return view_->findChild<QTableView*>(); }
  [[nodiscard]] QString text(int row, int column) const {
    return table()->model()->index(row, column).data().toString();
  }
  [[nodiscard]] QString notes() const {
    return view_->findChild<QLabel*>(u"comparison_notes"_s)->text();
  }

 private Q_SLOTS:

  void initTestCase() {
    open();
    shared_ = made_up({64, 128});
    disjoint_ = made_up({512});
  }
  void init() {
    view_ = std::make_unique<ComparisonView>();
    view_->resize(900, 500);
    view_->show();
    view_->show_comparison(shared_);
  }
  void cleanup() { view_.reset(); }

  void FollowsTheRulesOfItemModels() {
    ComparisonModel model;
    const QAbstractItemModelTester tester(&model);
    model.set_comparison(shared_);
    QCOMPARE(model.rowCount(), 6);
    model.set_comparison(nullptr);
    QCOMPARE(model.rowCount(), 0);
  }

  void ListsAndSortsSharedCellsWithVerdicts() {
    QCOMPARE(table()->model()->rowCount(), 6);
    QCOMPARE(text(0, ComparisonModel::contender), u"full/dense"_s);
    QVERIFY(text(0, ComparisonModel::ratio).startsWith(u'+'));
    QCOMPARE(text(1, ComparisonModel::ratio), u"no difference shown"_s);
    QVERIFY(!notes().contains(u"attnscope run"_s));
    QVERIFY(notes().contains(u"slower in 1"_s));
    table()->sortByColumn(ComparisonModel::ratio, Qt::AscendingOrder);
    QVERIFY(text(5, ComparisonModel::ratio).startsWith(u'+'));
    view_->show_comparison(disjoint_);
    QCOMPARE(table()->model()->rowCount(), 0);
    QVERIFY(notes().contains(u"Choose runs of the same sweep"_s));
  }

  void ExportsTheChartOfRatios() {
    const report::Figure& figure = view_->chart()->figure();
    QCOMPARE(figure.series.size(), std::size_t{3});
    QCOMPARE(figure.line_at, std::optional(1.0));
    QVERIFY(std::abs(figure.series.front().points.front().y - 10) < 1e-6);
    QVERIFY(view_->has_figure());
    QTest::keyClick(view_->chart(), Qt::Key_E);
    auto* dialog = view_->findChild<FigureDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    dialog->reject();
    view_->show_comparison(disjoint_);
    QVERIFY(!view_->has_figure() && !view_->chart()->isVisible());
  }

  void ShowsOnlyDifferencesByKeyboard() {
    auto* only = view_->findChild<QCheckBox*>(u"comparison_only"_s);
    only->setFocus();
    QTest::keyClick(only, Qt::Key_Space);
    QCOMPARE(table()->model()->rowCount(), 1);
    QTest::keyClick(only, Qt::Key_Space);
    QCOMPARE(table()->model()->rowCount(), 6);
  }

  void SwapsTheRuns() {
    const QSignalSpy requested(view_.get(), &ComparisonView::swap_requested);
    QTest::mouseClick(view_->findChild<QToolButton*>(u"comparison_swap"_s), Qt::LeftButton);
    QCOMPARE(requested.count(), 1);
    QCOMPARE(requested[0][0].toString(), shared_->uuid_b);
    QCOMPARE(requested[0][1].toString(), shared_->uuid_a);
  }

  void CopiesTheTableInEveryFormat() {
    view_->copy_table(report::TableFormat::csv);
    QCOMPARE(QApplication::clipboard()->text().count(u"\r\n"_s), 7);
    view_->copy_table(report::TableFormat::markdown);
    QVERIFY(QApplication::clipboard()->text().startsWith(u"| setting |"_s));
  }
};

ATTNSCOPE_GUI_TEST(ComparisonViewTest)

}  // namespace attnscope::gui
#include "comparison_view_test.moc"
