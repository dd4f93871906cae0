// SPDX-License-Identifier: Apache-2.0
#include "app/gui/models/contender_matrix_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "tests/gui/gui_test.h"

namespace attnscope::gui {

const PatternAndImplementation full_dense{QStringLiteral("full"), QStringLiteral("dense")};
const PatternAndImplementation mine_segment{QStringLiteral("my/pattern.json"),
                                            QStringLiteral("segment")};

void name_two_by_two(ContenderMatrixModel& model) {
  model.set_names({{QStringLiteral("full"), {}}, {QStringLiteral("sparse"), {}}},
                  {{QStringLiteral("dense"), {}}, {QStringLiteral("segment"), {}}});
}

class ContenderMatrixModelTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:

  void KeepsTheRulesOfItemModels() {
    ContenderMatrixModel model;
    QAbstractItemModelTester tester(&model);
    name_two_by_two(model);
    model.set_checked({full_dense, mine_segment});
    QCOMPARE(model.rowCount(), 2);     // implementations
    QCOMPARE(model.columnCount(), 3);  // patterns
  }

  void Checking_AddsThePairAndTellsOfTheEdit() {
    ContenderMatrixModel model;
    name_two_by_two(model);
    QSignalSpy edited(&model, &ContenderMatrixModel::edited);
    const QModelIndex cell = model.index_of(QStringLiteral("full"), QStringLiteral("dense"));
    QVERIFY(model.setData(cell, Qt::Checked, Qt::CheckStateRole));
    QCOMPARE(model.checked(), std::vector{full_dense});
    QVERIFY(model.setData(cell, Qt::Unchecked, Qt::CheckStateRole));
    QVERIFY(model.checked().empty());
    QCOMPARE(edited.count(), 2);
  }

  void APairOutsideTheNames_GetsALineOfItsOwn() {
    ContenderMatrixModel model;
    name_two_by_two(model);
    model.set_checked({mine_segment});
    const QModelIndex cell = model.index_of(mine_segment.first, mine_segment.second);
    QVERIFY(cell.isValid());
    QCOMPARE(cell.data(Qt::CheckStateRole).toInt(), static_cast<int>(Qt::Checked));
  }

  void AnImpossiblePair_CannotBeCheckedButUnchecked() {
    ContenderMatrixModel model;
    const QAbstractItemModelTester tester(&model);
    name_two_by_two(model);
    const QModelIndex cell = model.index_of(full_dense.first, full_dense.second);
    model.set_checked({full_dense});
    model.set_impossible({{full_dense, QStringLiteral("no memory")}});
    QVERIFY(cell.data(Qt::ToolTipRole).toString().contains(QStringLiteral("no memory")));
    QVERIFY(cell.data(Qt::AccessibleTextRole).toString().contains(QStringLiteral("no memory")));
    QVERIFY(model.setData(cell, Qt::Unchecked, Qt::CheckStateRole));
    QVERIFY(!model.setData(cell, Qt::Checked, Qt::CheckStateRole));
    QVERIFY(model.checked().empty());
    model.set_impossible({});
    QVERIFY(model.setData(cell, Qt::Checked, Qt::CheckStateRole));
  }

  void NewNames_KeepTheChecks() {
    ContenderMatrixModel model;
    model.set_checked({full_dense});
    name_two_by_two(model);
    QCOMPARE(model.checked(), std::vector{full_dense});
  }
};

ATTNSCOPE_GUI_TEST(ContenderMatrixModelTest)

}  // namespace attnscope::gui
#include "contender_matrix_model_test.moc"
