// SPDX-License-Identifier: Apache-2.0
#include "app/gui/models/run_list_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

RunEntry entry(const std::string& uuid, const std::string& name, RunStatus status, int heats_done) {
  RunEntry made;
  made.info.id.uuid = uuid;
  made.info.start = new_run(name, 4);
  made.info.status = status;
  made.info.heats_done = heats_done;
  return made;
}

RunListPointer runs(std::vector<RunEntry> entries) {
  return std::make_shared<RunListSnapshot>(RunListSnapshot{std::move(entries)});
}

class RunListModelTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:

  void FollowsTheRulesOfItemModels() {
    RunListModel model;
    QAbstractItemModelTester tester(&model);
    model.set_runs(runs({entry("a", "one", RunStatus::done, 4)}));
    model.set_runs(
        runs({entry("b", "two", RunStatus::running, 0), entry("a", "one", RunStatus::done, 4)}));
    model.set_runs(
        runs({entry("c", "three", RunStatus::running, 0), entry("a", "one", RunStatus::done, 4),
              entry("b", "two", RunStatus::done, 4)}));
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(model.index(1).data(RunListModel::uuid_role).toString(), u"a"_s);
    model.set_runs(runs({entry("b", "two", RunStatus::done, 4)}));
    QCOMPARE(model.rowCount(), 1);
    model.set_runs(runs({}));
    QCOMPARE(model.rowCount(), 0);
  }

  void UpdatesTheRowOfAGrowingRun() {
    RunListModel model;
    model.set_runs(runs({entry("a", "one", RunStatus::running, 1)}));
    const QPersistentModelIndex kept(model.index(0));
    QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    model.set_runs(runs({entry("a", "one", RunStatus::running, 2)}));
    QVERIFY(kept.isValid());
    QCOMPARE(reset.count(), 0);
    QCOMPARE(changed.count(), 1);
    QCOMPARE(kept.data(RunListModel::fraction_role).toDouble(), 0.5);
  }

  void CountsHeatsAndFailedCellsInWords() {
    RunEntry run = entry("a", "one", RunStatus::done, 1);
    run.info.start.heats_planned = 1;
    QCOMPARE(status_text(run), u"done"_s);
    RunListModel model;
    model.set_runs(runs({run, entry("b", "two", RunStatus::done, 4)}));
    const auto detail = [&](int row) {
      return model.index(row).data(RunListModel::detail_role).toString();
    };
    QVERIFY2(detail(0).contains(u", 1 heat, "_s), qPrintable(detail(0)));
    QVERIFY2(detail(1).contains(u", 4 heats, "_s), qPrintable(detail(1)));
    run.info.cells_failed = 1;
    QCOMPARE(status_text(run), u"done, 1 cell failed"_s);
    run.info.cells_failed = 3;
    QCOMPARE(status_text(run), u"done, 3 cells failed"_s);
  }

  void MarksOnlyRunningRunsAsLive() {
    RunListModel model;
    QVERIFY(model.live() == nullptr);
    model.set_runs(runs({entry("a", "one", RunStatus::interrupted, 1)}));
    QVERIFY(model.live() == nullptr);
    model.set_runs(runs(
        {entry("b", "two", RunStatus::running, 1), entry("a", "one", RunStatus::interrupted, 1)}));
    QVERIFY(model.live() != nullptr);
    QCOMPARE(model.live()->info.id.uuid, std::string("b"));
  }

  void ShowsNameAndTags() {
    RunListModel model;
    RunEntry named = entry("a", "sweep", RunStatus::done, 4);
    named.info.number = 7;
    named.info.name = "mine";
    named.info.tag = "laptop quiet";
    named.info.note = "lid closed";
    model.set_runs(runs({named, entry("b", "other", RunStatus::done, 4)}));
    QCOMPARE(model.index(0).data().toString(), u"7  mine"_s);
    QCOMPARE(model.index(0).data(RunListModel::tags_role).toString(), u"laptop quiet"_s);
    const QString tip = model.index(0).data(Qt::ToolTipRole).toString();
    for (const char* word : {"sweep", "lid closed", "laptop", "made-up processor"})
      QVERIFY2(tip.contains(QLatin1String(word)), word);
    QCOMPARE(model.tags(), QStringList({"laptop", "quiet"}));
  }

  void RequestsOnlyChangedNames() {
    RunListModel model;
    model.set_runs(runs({entry("a", "sweep", RunStatus::done, 4)}));
    QSignalSpy requested(&model, &RunListModel::rename_requested);
    QVERIFY(!model.setData(model.index(0), u"mine"_s, Qt::EditRole));
    model.set_editable(true);
    QVERIFY(model.flags(model.index(0)).testFlag(Qt::ItemIsEditable));
    QVERIFY(!model.setData(model.index(0), u"sweep"_s, Qt::EditRole));
    QVERIFY(model.setData(model.index(0), u"  mine  too "_s, Qt::EditRole));
    QCOMPARE(requested.count(), 1);
    QCOMPARE(requested.constFirst().at(1).toString(), u"mine too"_s);
  }

  void MarksADamagedRun() {
    RunListModel model;
    model.set_runs(runs({entry("a", "one", RunStatus::done, 4)}));
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    model.mark_damaged({u"a"_s, u"not there"_s});
    QCOMPARE(changed.count(), 1);
    QVERIFY(model.index(0).data(RunListModel::damaged_role).toBool());
    QVERIFY(model.index(0).data(RunListModel::detail_role).toString().startsWith(u"damaged"_s));
    model.set_runs(runs({entry("a", "one", RunStatus::done, 4)}));
    QVERIFY(model.index(0).data(RunListModel::damaged_role).toBool());
  }
};

ATTNSCOPE_GUI_TEST(RunListModelTest)

}  // namespace attnscope::gui
#include "run_list_model_test.moc"
