// SPDX-License-Identifier: Apache-2.0
//
// The window while another process holds its database: it waits, answers, and loses nothing.

#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>

#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/page.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

/// Another process with a lock; lets go at the end.
class Holder {
 public:
  Holder(const std::filesystem::path& database, const char* what) {
    process_.start(QStringLiteral(HOLD_LOCK),
                   {QString::fromStdString(database.string()), QLatin1String(what)});
  }
  ~Holder() { release(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  [[nodiscard]] bool holds() {
    return process_.state() != QProcess::NotRunning &&
           (held_ = held_ || (process_.waitForReadyRead(patience_ms) &&
                              process_.readAllStandardOutput() == "held\n"));
  }
  void release() {
    process_.closeWriteChannel();
    process_.waitForFinished(patience_ms);
  }

 private:
  QProcess process_;
  bool held_ = false;
};

class LockedDatabaseTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  QString run_;

  [[nodiscard]] std::filesystem::path database() const {
    return folder_->filePath(QStringLiteral("attnscope.db")).toStdString();
  }
  [[nodiscard]] std::filesystem::path exported() const {
    return folder_->filePath(QStringLiteral("run.attn")).toStdString();
  }

 private Q_SLOTS:

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    QSettings().clear();
    Store store = open_store(database());
    const RunId run = add_done_run(store, "stored", {64, 128});
    run_ = QString::fromStdString(run.uuid);
    QVERIFY(store.export_runs({run}, exported()).has_value());
  }

  void OpensOnceTheLockIsReleased() {
    Holder holder(database(), "everything");
    QVERIFY(holder.holds());
    MainWindow window({.database = database()});
    window.show();
    ComparePage* page = window.compare();
    QTRY_VERIFY_WITH_TIMEOUT(
        page->messages()->text().contains(QStringLiteral("is locked by another process; waiting")),
        patience_ms);

    // The window's own thread goes on: events by the thousand, keys, pages.
    int turns = 0;
    std::function<void()> turn = [&] {
      if (++turns < 2000) QMetaObject::invokeMethod(&window, turn, Qt::QueuedConnection);
    };
    turn();
    QTRY_COMPARE(turns, 2000);
    QTest::keyClicks(page->run_list()->search(), QStringLiteral("stored"));
    QCOMPARE(page->run_list()->search()->text(), QStringLiteral("stored"));
    QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
    QTRY_VERIFY(window.patterns()->isVisible());
    QTest::keyClick(&window, Qt::Key_1, Qt::ControlModifier);
    QVERIFY(holder.holds());
    QVERIFY(!window.runs().is_known());

    holder.release();
    QTRY_COMPARE_WITH_TIMEOUT(window.runs().rowCount(), 1, patience_ms);
    QTRY_VERIFY(!page->messages()->isVisible());
    QTRY_VERIFY(page->run_view()->run() != nullptr);
  }

  void RemovesAfterTheLock() {
    StoreThread store(database());
    RunListModel model;
    connect(store.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    Heard waiting(store.reader(), &StoreReader::waiting);
    Heard waited(store.reader(), &StoreReader::lock_released);
    Heard failed(store.reader(), &StoreReader::failed);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    store.post(&StoreReader::remove_runs, QStringList{run_});
    QTRY_COMPARE_WITH_TIMEOUT(waiting.count(), 1, patience_ms);
    QCOMPARE(model.rowCount(), 1);
    QCOMPARE(waited.count(), 0);
    holder.release();
    QTRY_COMPARE_WITH_TIMEOUT(model.rowCount(), 0, patience_ms);
    QTRY_COMPARE(waited.count(), 1);
    QCOMPARE(failed.count(), 0);
    QCOMPARE(waiting.count(), 1);
  }

  void StaysOpenUntilANoteIsStored() {
    MainWindow window({.database = database()});
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(window.compare()->run_view()->run() != nullptr, patience_ms);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    auto* note = window.findChild<QPlainTextEdit*>(QStringLiteral("run_note"));
    QTRY_VERIFY(note->isVisible());
    note->setFocus();
    QTest::keyClicks(note, QStringLiteral("noisy"));
    QVERIFY(!window.close());
    QVERIFY(window.isVisible());
    QVERIFY(window.compare()->messages()->fix_button()->text().startsWith("Continue without"));
    QCOMPARE(note->toPlainText(), QStringLiteral("noisy"));
    holder.release();
    QTRY_VERIFY_WITH_TIMEOUT(!window.isVisible(), patience_ms);
    QCOMPARE(open_store(database()).find_run("1")->note, std::string("noisy"));
  }

  void KeepsTheOrderOfRequests() {
    StoreThread store(database());
    RunListModel model;
    connect(store.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    Heard waiting(store.reader(), &StoreReader::waiting);
    Heard succeeded(store.reader(), &StoreReader::succeeded);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    store.post(&StoreReader::remove_runs, QStringList{run_});
    store.post(&StoreReader::import_file, QString::fromStdString(exported().string()));
    QTRY_COMPARE_WITH_TIMEOUT(waiting.count(), 1, patience_ms);
    QCOMPARE(succeeded.count(), 0);
    holder.release();
    QTRY_COMPARE_WITH_TIMEOUT(succeeded.count(), 1, patience_ms);
    QVERIFY2(std::get<0>(succeeded.all().front()).startsWith(QStringLiteral("Imported 1 run")),
             qPrintable(std::get<0>(succeeded.all().front())));
    QTRY_COMPARE(model.rowCount(), 1);
  }

  void ReportsARequestThatTimedOut() {
    StoreThread store(database());
    store.reader()->set_most_tries(2);
    RunListModel model;
    connect(store.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    Heard failed(store.reader(), &StoreReader::failed);
    Heard waited(store.reader(), &StoreReader::lock_released);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    store.post(&StoreReader::remove_runs, QStringList{run_});
    QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, patience_ms);
    QVERIFY(std::get<0>(failed.all().front()).contains(QStringLiteral("is locked by")));
    QTRY_COMPARE(waited.count(), 1);
    QCOMPARE(model.rowCount(), 1);
    holder.release();
    store.post(&StoreReader::remove_runs, QStringList{run_});
    QTRY_COMPARE_WITH_TIMEOUT(model.rowCount(), 0, patience_ms);
    QCOMPARE(failed.count(), 1);
  }

  void KeepsTypedTextDuringALock() {
    StoreThread store(database());
    store.reader()->set_most_tries(1);
    RunListModel model;
    connect(store.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    Heard failed(store.reader(), &StoreReader::failed);
    Heard written(store.reader(), &StoreReader::text_written);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    store.post(&StoreReader::rename_run, run_, QStringLiteral("typed"));
    store.post(&StoreReader::change_tags, QStringList{run_}, QStringList{QStringLiteral("quiet")},
               QStringList());
    store.post(&StoreReader::write_note, run_, QStringLiteral("fan off"), QString());
    const auto shown = [&](int role) { return model.index(0).data(role).toString(); };
    QTRY_VERIFY_WITH_TIMEOUT(model.entry(run_)->info.note == "fan off", patience_ms);
    QVERIFY(shown(Qt::DisplayRole).endsWith(QStringLiteral("typed")));
    QVERIFY(shown(RunListModel::detail_role).startsWith(QStringLiteral("not stored yet")));
    QCOMPARE(shown(RunListModel::tags_role), QStringLiteral("quiet"));
    QVERIFY(holder.holds());
    holder.release();
    QTRY_COMPARE_WITH_TIMEOUT(written.count(), 3, patience_ms);
    QCOMPARE(failed.count(), 0);
    QTRY_VERIFY(!shown(RunListModel::detail_role).contains(QStringLiteral("not stored")));
    const RunInfo stored = *open_store(database()).find_run("1");
    QCOMPARE(stored.name, std::string("typed"));
    QCOMPARE(stored.tag, std::string("quiet"));
    QCOMPARE(stored.note, std::string("fan off"));
  }

  void ReadsWhileAnotherProcessWrites() {
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    MainWindow window({.database = database()});
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(window.compare()->run_view()->run() != nullptr, patience_ms);
    QCOMPARE(window.compare()->run_view()->run()->table.rows.size(), std::size_t{6});
    QVERIFY(!window.compare()->messages()->isVisible());
    QVERIFY(holder.holds());
  }
};

ATTNSCOPE_GUI_TEST(LockedDatabaseTest)

}  // namespace attnscope::gui
#include "locked_database_test.moc"
