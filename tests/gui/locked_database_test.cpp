// SPDX-License-Identifier: Apache-2.0
//
// The window while another process locks its database: it waits, responds and loses nothing.

#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>

#include "app/gui/views/patterns_page.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

/// Another process that locks the database until release().
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
           (held_ = held_ || (process_.waitForReadyRead(timeout_ms) &&
                              process_.readAllStandardOutput() == "held\n"));
  }
  void release() {
    process_.closeWriteChannel();
    process_.waitForFinished(timeout_ms);
  }

 private:
  QProcess process_;
  bool held_ = false;
};

class LockedDatabaseTest : public WindowSuite {
  Q_OBJECT

  QString run_;
  [[nodiscard]] std::filesystem::path exported() const { return path("run.attn").toStdString(); }

 private Q_SLOTS:
  void init() {
    reset();
    const RunId run = add_runs({"stored"}, {64, 128});
    run_ = QString::fromStdString(run.uuid);
    QVERIFY(open_store(database()).export_runs({run}, exported()).has_value());
  }
  void cleanup() { window_.reset(); }

  void OpensOnceTheLockIsReleased() {
    Holder holder(database(), "everything");
    QVERIFY(holder.holds());
    open_window();
    QTRY_VERIFY(messages()->text().contains(u"is locked by another process; waiting"_s));

    // The window's thread handles thousands of events, keys and pages.
    int turns = 0;
    std::function<void()> turn = [&] {
      if (++turns < 2000) QMetaObject::invokeMethod(window_.get(), turn, Qt::QueuedConnection);
    };
    turn();
    QTRY_COMPARE(turns, 2000);
    QTest::keyClicks(panel()->search(), u"stored"_s);
    QCOMPARE(panel()->search()->text(), u"stored"_s);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier);
    QTRY_VERIFY(window_->patterns()->isVisible());
    QTest::keyClick(window_.get(), Qt::Key_1, Qt::ControlModifier);
    QVERIFY(holder.holds());
    QVERIFY(!window_->runs().is_known());

    holder.release();
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    QTRY_VERIFY(!messages()->isVisible());
    QTRY_VERIFY(view()->run() != nullptr);
  }

  void RemovesAfterTheLock() {
    StoreClient store(database());
    SignalLog waiting(store.reader(), &StoreReader::waiting);
    SignalLog released(store.reader(), &StoreReader::lock_released);
    SignalLog failed(store.reader(), &StoreReader::failed);
    store.start(1);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    store.post(&StoreReader::remove_runs, QStringList{run_});
    QTRY_COMPARE(waiting.count(), 1);
    QCOMPARE(store.list().rowCount(), 1);
    QCOMPARE(released.count(), 0);
    holder.release();
    QTRY_COMPARE(store.list().rowCount(), 0);
    QTRY_COMPARE(released.count(), 1);
    QCOMPARE(failed.count(), 0);
    QCOMPARE(waiting.count(), 1);
  }

  void StaysOpenUntilANoteIsStored() {
    open_window();
    QTRY_VERIFY(view()->run() != nullptr);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    auto* note = find<QPlainTextEdit>("run_note");
    QTRY_VERIFY(note->isVisible());
    note->setFocus();
    QTest::keyClicks(note, u"noisy"_s);
    QVERIFY(!window_->close());
    QVERIFY(window_->isVisible());
    QVERIFY(messages()->fix_button()->text().startsWith("Continue without"));
    QCOMPARE(note->toPlainText(), u"noisy"_s);
    holder.release();
    QTRY_VERIFY(!window_->isVisible());
    QCOMPARE(stored_run("1").note, std::string("noisy"));
  }

  void KeepsTheOrderOfRequests() {
    StoreClient store(database());
    SignalLog waiting(store.reader(), &StoreReader::waiting);
    SignalLog succeeded(store.reader(), &StoreReader::succeeded);
    store.start(1);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    store.post(&StoreReader::remove_runs, QStringList{run_});
    store.post(&StoreReader::import_file, QString::fromStdString(exported().string()));
    QTRY_COMPARE(waiting.count(), 1);
    QCOMPARE(succeeded.count(), 0);
    holder.release();
    QTRY_COMPARE(succeeded.count(), 1);
    QVERIFY2(std::get<0>(succeeded.all().front()).startsWith(u"Imported 1 run"_s),
             qPrintable(std::get<0>(succeeded.all().front())));
    QTRY_COMPARE(store.list().rowCount(), 1);
  }

  void ReportsARequestThatTimedOut() {
    StoreClient store(database());
    store.reader()->set_most_tries(2);
    SignalLog failed(store.reader(), &StoreReader::failed);
    SignalLog released(store.reader(), &StoreReader::lock_released);
    store.start(1);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    store.post(&StoreReader::remove_runs, QStringList{run_});
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(std::get<0>(failed.all().front()).contains(u"is locked by"_s));
    QTRY_COMPARE(released.count(), 1);
    QCOMPARE(store.list().rowCount(), 1);
    holder.release();
    store.post(&StoreReader::remove_runs, QStringList{run_});
    QTRY_COMPARE(store.list().rowCount(), 0);
    QCOMPARE(failed.count(), 1);
  }

  void KeepsTypedTextDuringALock() {
    StoreClient store(database());
    store.reader()->set_most_tries(1);
    SignalLog failed(store.reader(), &StoreReader::failed);
    SignalLog written(store.reader(), &StoreReader::text_written);
    store.start(1);
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    store.post(&StoreReader::rename_run, run_, u"typed"_s);
    store.post(&StoreReader::change_tags, QStringList{run_}, QStringList{u"quiet"_s},
               QStringList());
    store.post(&StoreReader::write_note, run_, u"fan off"_s, QString());
    const auto shown = [&](int role) { return store.list().index(0).data(role).toString(); };
    QTRY_VERIFY(store.list().entry(run_)->info.note == "fan off");
    QVERIFY(shown(Qt::DisplayRole).endsWith(u"typed"_s));
    QVERIFY(shown(RunListModel::detail_role).startsWith(u"not stored yet"_s));
    QCOMPARE(shown(RunListModel::tags_role), u"quiet"_s);
    QVERIFY(holder.holds());
    holder.release();
    QTRY_COMPARE(written.count(), 3);
    QCOMPARE(failed.count(), 0);
    QTRY_VERIFY(!shown(RunListModel::detail_role).contains(u"not stored"_s));
    const RunInfo stored = *open_store(database()).find_run("1");
    QCOMPARE(stored.name, std::string("typed"));
    QCOMPARE(stored.tag, std::string("quiet"));
    QCOMPARE(stored.note, std::string("fan off"));
  }

  void ReadsWhileAnotherProcessWrites() {
    Holder holder(database(), "writing");
    QVERIFY(holder.holds());
    open_window();
    QTRY_VERIFY(view()->run() != nullptr);
    QCOMPARE(view()->run()->table.rows.size(), std::size_t{6});
    QVERIFY(!messages()->isVisible());
    QVERIFY(holder.holds());
  }
};

ATTNSCOPE_GUI_TEST(LockedDatabaseTest)

}  // namespace attnscope::gui
#include "locked_database_test.moc"
