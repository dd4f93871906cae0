// SPDX-License-Identifier: Apache-2.0
#include "app/gui/session/store_thread.h"

#include <QSignalSpy>

#include "app/gui/models/run_list_model.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

QString text_of(const RunId& run) {
  return QString::fromStdString(run.uuid);
}

RunRequest request_for(const QString& uuid) {
  RunRequest request;
  request.uuid = uuid;
  return request;
}

class StoreThreadTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  [[nodiscard]] std::filesystem::path path(const char* name) const {
    return folder_->filePath(QLatin1String(name)).toStdString();
  }
  static RunPointer last_run(const QSignalSpy& spy) {
    return spy.isEmpty() ? nullptr : spy.constLast().constFirst().value<RunPointer>();
  }

 private Q_SLOTS:

  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void ANewDatabase_OpensEmpty() {
    StoreThread store(path("new/attnscope.db"));
    QSignalSpy opened(&store, &StoreThread::opened);
    QSignalSpy changed(&store, &StoreThread::runs_changed);
    store.start();
    QTRY_COMPARE(opened.count(), 1);
    QTRY_COMPARE(changed.count(), 1);
    QVERIFY(changed.constFirst().constFirst().value<RunListPointer>()->runs.empty());
  }

  void AForeignFile_IsRefusedWithASentenceAndOpensOnceMended() {
    QFile foreign(QString::fromStdString(path("foreign.db").string()));
    QVERIFY(foreign.open(QIODevice::WriteOnly));
    foreign.write(QByteArray(8192, 'x'));
    foreign.close();
    StoreThread store(path("foreign.db"));
    QSignalSpy refused(&store, &StoreThread::refused);
    QSignalSpy opened(&store, &StoreThread::opened);
    store.start();
    QTRY_COMPARE(refused.count(), 1);
    QVERIFY(refused.constFirst().constFirst().toString().contains(QStringLiteral("foreign.db")));
    QVERIFY(foreign.remove());
    store.open_again();
    QTRY_COMPARE(opened.count(), 1);
  }

  void AHeatFromAnotherConnection_ReachesTheRunList() {
    Store other = open_store(path("a.db"));
    const RunId run = begin_run_with(other, "live", {64}, 3);
    StoreThread store(path("a.db"));
    RunListModel model;
    connect(&store, &StoreThread::runs_changed, &model, &RunListModel::set_runs);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    QVERIFY(model.live() != nullptr);
    QCOMPARE(model.live()->info.heats_done, 1);
    QVERIFY(other.add_heat(run, made_up_heat(1, 128, three_contenders())).has_value());
    QTRY_COMPARE(model.live()->info.heats_done, 2);
    QVERIFY(other.set_progress(run, {2, 3, "256 tokens, full/dense", 12.0}).has_value());
    QTRY_VERIFY(model.live()->progress && model.live()->progress->current.starts_with("256"));
    QVERIFY(other.finish_run(run, RunStatus::done).has_value());
    QTRY_VERIFY(model.live() == nullptr);
  }

  void TheShownRun_IsReadAgainWhenAHeatEnds() {
    Store other = open_store(path("a.db"));
    const RunId run = begin_run_with(other, "live", {64}, 3);
    StoreThread store(path("a.db"));
    QSignalSpy read(&store, &StoreThread::run_read);
    store.start();
    store.show_run(request_for(text_of(run)));
    QTRY_VERIFY(last_run(read) && last_run(read)->table.rows.size() == 3);
    QVERIFY(other.add_heat(run, made_up_heat(1, 128, three_contenders())).has_value());
    QTRY_COMPARE(last_run(read)->table.rows.size(), std::size_t{6});
    QVERIFY(last_run(read)->time.figure.has_value());
    QVERIFY(last_run(read)->memory.figure.has_value());
  }

  void ABaselineTheRunLacks_IsReplacedByItsFirstContender() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64, 128});
    StoreThread store(path("a.db"));
    QSignalSpy read(&store, &StoreThread::run_read);
    store.start();
    store.show_run({.uuid = text_of(run), .baseline = QStringLiteral("qds/segment/9")});
    QTRY_COMPARE(read.count(), 1);
    QVERIFY(last_run(read)->problem.isEmpty());
    QCOMPARE(last_run(read)->table.baseline, std::optional<std::string>("full/dense"));
    store.show_run({.uuid = text_of(run), .baseline = {}, .any_baseline = false});
    QTRY_COMPARE(read.count(), 2);
    QVERIFY(!last_run(read)->table.baseline.has_value());
  }

  void LengthsAreSlices_WhenWindowsRunAlongX() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64, 128});
    StoreThread store(path("a.db"));
    QSignalSpy read(&store, &StoreThread::run_read);
    store.start();
    store.show_run({.uuid = text_of(run), .baseline = {}, .x = report::XAxis::window, .slice = 1});
    QTRY_COMPARE(read.count(), 1);
    QCOMPARE(last_run(read)->slices, QStringList({"64 tokens", "128 tokens"}));
    QCOMPARE(last_run(read)->request.slice, 1);
    QVERIFY2(last_run(read)->time.figure.has_value(), qPrintable(last_run(read)->time.problem));
  }

  void CacheStatesAreSlices() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    HeatResult cold = made_up_heat(1, 64, three_contenders());
    cold.point.cache = CacheState::cold;
    cold.point.documents = 4;
    QVERIFY(other.add_heat(run, cold));
    StoreThread store(path("a.db"));
    QSignalSpy read(&store, &StoreThread::run_read);
    store.start();
    store.show_run({.uuid = text_of(run), .baseline = {}});
    QTRY_COMPARE(read.count(), 1);
    QCOMPARE(last_run(read)->slices, QStringList({"one document an item, warm caches",
                                                  "4 documents an item, cold caches"}));
    QVERIFY2(last_run(read)->time.figure.has_value(), qPrintable(last_run(read)->time.problem));
  }

  void ARemovedRun_LeavesTheList() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    StoreThread store(path("a.db"));
    RunListModel model;
    connect(&store, &StoreThread::runs_changed, &model, &RunListModel::set_runs);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    store.remove_run(text_of(run));
    QTRY_COMPARE(model.rowCount(), 0);
  }

  void AnExportedRun_ComesBackByImport() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    StoreThread from(path("a.db"));
    StoreThread to(path("b.db"));
    QSignalSpy exported(&from, &StoreThread::succeeded);
    RunListModel model;
    connect(&to, &StoreThread::runs_changed, &model, &RunListModel::set_runs);
    from.start();
    to.start();
    const QString file = folder_->filePath(QStringLiteral("run.attn"));
    from.export_runs({text_of(run)}, file);
    QTRY_COMPARE(exported.count(), 1);
    to.import_file(file);
    QTRY_COMPARE(model.rowCount(), 1);
    QVERIFY(model.entry(text_of(run)) != nullptr);
  }

  void ARunFile_IsReadOnly() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    QVERIFY(other.export_runs({run}, path("run.attn")).has_value());
    StoreThread store(path("run.attn"));
    RunListModel model;
    connect(&store, &StoreThread::runs_changed, &model, &RunListModel::set_runs);
    QSignalSpy failed(&store, &StoreThread::failed);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    store.remove_run(text_of(run));
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(failed.constFirst().constFirst().toString().contains(QStringLiteral("read-only")));
    QCOMPARE(model.rowCount(), 1);
  }

  void ADamagedRun_IsNamedAfterOpeningWithTheWayOut() {
    {
      Store other = open_store(path("a.db"));
      static_cast<void>(add_done_run(other, "sound", {64}));
      static_cast<void>(add_done_run(other, "hurt", {64}));
    }
    QFile file(QString::fromStdString(path("a.db").string()));
    QVERIFY(file.open(QIODevice::ReadWrite));
    QByteArray bytes = file.readAll();
    const qsizetype at = bytes.lastIndexOf("made-up processor");
    QVERIFY(at > 0);
    bytes[at] = 'M';
    file.seek(0);
    file.write(bytes);
    file.close();
    StoreThread store(path("a.db"));
    QSignalSpy damaged(&store, &StoreThread::damaged);
    store.start();
    QTRY_COMPARE_WITH_TIMEOUT(damaged.count(), 1, 60000);  // it takes no time from others
    const QString sentence = damaged.constFirst().constFirst().toString();
    QVERIFY2(sentence.contains(QStringLiteral("attnscope export")), qPrintable(sentence));
    QVERIFY2(sentence.contains(QStringLiteral("a.db")), qPrintable(sentence));
  }

  void ARunThatIsGone_IsSaidInTheSnapshot() {
    StoreThread store(path("a.db"));
    QSignalSpy read(&store, &StoreThread::run_read);
    store.start();
    store.show_run(request_for(QStringLiteral("00000000-0000-0000-0000-000000000000")));
    QTRY_COMPARE(read.count(), 1);
    QVERIFY(!last_run(read)->problem.isEmpty());
  }
};

}  // namespace attnscope::gui

ATTNSCOPE_GUI_TEST_MAIN(attnscope::gui::StoreThreadTest)
#include "store_thread_test.moc"
