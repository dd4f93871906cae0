// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "app/gui/session/snapshot.h"
#include "app/gui/views/run_table.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class PivotTableModelTest : public StoreSuite {
  Q_OBJECT

  RunId run_;

  [[nodiscard]] RunPointer read(const report::PivotChoice& pivot) const {
    return StoreSuite::read(run_, {.pivot = pivot});
  }
  static QString text(const PivotTableModel& model, int row, int column) {
    return model.index(row, column).data().toString();
  }

 private Q_SLOTS:

  void init() {
    open();
    run_ = begin_run_with(*store_, "made-up", {64, 8192}, 3);
  }

  void FollowsTheRulesOfItemModels() {
    PivotTableModel model;
    const QAbstractItemModelTester tester(&model);
    model.set_run(read({}));
    QVERIFY(model.rowCount() == 3 && model.columnCount() == 3);
    model.set_run(read({.rows = "sequence_tokens", .columns = "contender"}));
    QVERIFY(model.rowCount() == 2 && model.columnCount() == 4);
    model.set_run(read({.columns = "pattern"}));
    model.set_run(std::make_shared<RunSnapshot>());
    QCOMPARE(model.rowCount(), 0);
    QCOMPARE(model.columnCount(), 0);
  }

  void KeepsSelectionsOfAGrowingRun() {
    PivotTableModel model;
    model.set_run(read({}));
    const QPersistentModelIndex kept(model.index(2, 1));
    QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
    model.set_run(read({}));
    QCOMPARE(reset.count(), 0);
    QVERIFY(kept.isValid());
    QVERIFY(store_->add_heat(run_, made_up_heat(2, 128, three_contenders())).has_value());
    model.set_run(read({}));
    QCOMPARE(reset.count(), 1);
    QCOMPARE(model.columnCount(), 4);
  }

  void HeadsEveryBlockAndExplainsHeaders() {
    PivotTableModel model;
    model.set_run(read({}));
    QVERIFY(model.headerData(0, Qt::Horizontal, Qt::ToolTipRole)
                .toString()
                .contains(u"attention pattern"_s));
    QVERIFY(model.index(0, 0)
                .data(Qt::ToolTipRole)
                .toString()
                .startsWith(u"full/dense: attention of the pattern \"full\""_s));
    model.set_run(read({.rows = "pattern", .columns = "implementation"}));
    QVERIFY(model.is_heading(0));
    QVERIFY(text(model, 0, 0).contains(u"64 tokens"_s));
    QVERIFY(model.index(0, 0).data(heading_role).toBool());
    QVERIFY(!model.index(0, 1).data(table_row_role).isValid());
  }

  void KnowsRowVerdictAndBaselineOfACell() {
    PivotTableModel model;
    model.set_run(read({}));
    QVERIFY(model.index(0, 1).data(baseline_role).toBool());
    QVERIFY(!model.index(0, 1).data(verdict_role).isValid());
    const QModelIndex sparse = model.index(2, 1);
    QCOMPARE(sparse.data(table_row_role).toInt(), 2);
    QCOMPARE(static_cast<statistics::Verdict>(sparse.data(verdict_role).toInt()),
             statistics::Verdict::slower);
    QVERIFY(sparse.data(Qt::ToolTipRole).toString().contains(u"95 % interval"_s));
    QCOMPARE(model.index_of(2), sparse);
    QVERIFY(!model.index_of(99).isValid());
    QCOMPARE(text(model, 0, 2), u"oom"_s);
  }

  void ShadesCostsAboveTheBest() {
    PivotTableModel model;
    for (const bool by_length : {false, true}) {
      model.set_run(by_length ? read({.rows = "sequence_tokens", .columns = "contender"})
                              : read({}));
      const auto shade = [&](int contender) {
        const QModelIndex cell =
            by_length ? model.index(0, 1 + contender) : model.index(contender, 1);
        return cell.data(shade_role).toDouble();
      };
      QCOMPARE(shade(0), 0.0);
      QVERIFY(shade(1) > 0.05);
      QVERIFY2(shade(2) > shade(1) && shade(2) <= 1, "the slowest has the darkest shade");
    }
    QVERIFY(!model.index(1, 1).data(shade_role).isValid());  // the cell did not fit
    model.set_run(read({.cells = {report::Quantity::ratio}}));
    QVERIFY(!model.index(2, 1).data(shade_role).isValid());
  }

  void LabelsRowsOfSeveralQuantities() {
    PivotTableModel model;
    model.set_run(read({.cells = {report::Quantity::time, report::Quantity::memory}}));
    QCOMPARE(model.label_columns(), 2);
    QCOMPARE(text(model, 0, 1), u"time/doc"_s);
    QCOMPARE(text(model, 1, 1), u"mem/doc"_s);
    QVERIFY(text(model, 1, 0).isEmpty());
    QVERIFY(!model.index(1, 0).data(Qt::AccessibleTextRole).toString().isEmpty());
  }
};

ATTNSCOPE_GUI_TEST(PivotTableModelTest)

}  // namespace attnscope::gui
#include "pivot_table_model_test.moc"
