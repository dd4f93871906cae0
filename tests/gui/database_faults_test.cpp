// SPDX-License-Identifier: Apache-2.0
//
// The window on a database with a flipped bit, which it shows as damage and never as a value, and
// on one that another process locks: it waits, responds and loses nothing.

#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QTableView>
#include <bit>
#include <cmath>

#include "app/gui/charts/run_chart.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/run_table.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

/// Another process that locks the database until release().
class Holder {
 public:
  Holder(const std::filesystem::path& database, const char* what) {
    process_.start(QStringLiteral(HOLD_LOCK),
                   {QString::fromStdString(database.string()), QLatin1String(what)});
    if (!process_.waitForReadyRead(timeout_ms) || process_.readAllStandardOutput() != "held\n")
      qFatal("hold_lock does not lock the database");
  }
  ~Holder() { release(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  [[nodiscard]] bool holds() const { return process_.state() != QProcess::NotRunning; }
  void release() {
    process_.closeWriteChannel();
    process_.waitForFinished(timeout_ms);
  }

 private:
  QProcess process_;
};

class DatabaseFaultsTest : public WindowSuite {
  Q_OBJECT

  QString run_;  // the stored run, at 64 and 128 tokens

  /// Replaces every occurrence of `before` in the database; how many there were.
  qsizetype replace(const QByteArray& before, const QByteArray& after) const {
    QFile file(path("attnscope.db"));
    if (!file.open(QIODevice::ReadWrite)) return 0;
    QByteArray bytes = file.readAll();
    const qsizetype count = bytes.count(before);
    bytes.replace(before, after);
    file.seek(0);
    return file.write(bytes) == bytes.size() ? count : 0;
  }
  [[nodiscard]] QString labels() const {
    QStringList texts;
    for (const QLabel* label : view()->findChildren<QLabel*>()) texts.append(label->text());
    return texts.join(u'\n');
  }
  [[nodiscard]] QModelIndex pivot(int row, int column) const {
    return view()->run_table()->view()->model()->index(row, column);
  }
  [[nodiscard]] std::filesystem::path exported() const { return path("run.attn").toStdString(); }

 private Q_SLOTS:
  void init() {
    reset();
    const RunId run = add_runs({"stored"}, {64, 128});
    run_ = QString::fromStdString(run.uuid);
    QVERIFY(open_store(database()).export_runs({run}, exported()).has_value());
  }
  void cleanup() { window_.reset(); }

  void HidesTheValueOfADamagedCell() {
    const StoredCell damaged =
        open_store(database()).cells(RunId{run_.toStdString()}, true)->at(4);  // at 128 tokens
    QCOMPARE(damaged.cell.contender.id(), std::string("full/sdpa"));
    const double time_ns = damaged.cell.samples.at(3).time_ns;
    // SQLite stores a real as its bits, the highest byte first, unless it is a whole number.
    QVERIFY(time_ns != std::floor(time_ns));
    const auto bits = std::bit_cast<std::uint64_t>(time_ns);
    QByteArray stored;
    for (int byte = 7; byte >= 0; --byte) stored.append(static_cast<char>(bits >> (8 * byte)));
    QByteArray flipped = stored;
    flipped[2] = static_cast<char>(flipped[2] ^ 0x08);
    QVERIFY(replace(stored, flipped) > 0);

    open_window();
    QTRY_VERIFY(shows_rows());
    QCOMPARE(pivot(1, 2).data().toString(), u"damaged"_s);
    QVERIFY(pivot(1, 2).data(Qt::ToolTipRole).toString().contains(u"attnscope export"_s));
    QVERIFY(!pivot(0, 2).data().toString().contains(u"damaged"_s));

    for (const std::size_t panel : {0U, 1U}) {
      const charts::RunChart* chart = view()->chart();
      const report::Series& series = chart->figure(panel).series.at(1);
      QCOMPARE(series.points.size(), std::size_t{1});
      QCOMPARE(series.rail.size(), std::size_t{1});
      QCOMPARE(chart->drawing(panel).rail_lanes().front().label, u"damaged"_s);
      QVERIFY(chart->drawing(panel).series().at(1).rail.front().text.contains(
          u"do not match their fingerprint"_s));
    }
    QVERIFY(labels().contains(u"1 damaged cell"_s));

    view()->copy_table(report::TableFormat::text);
    QVERIFY(QApplication::clipboard()->text().contains(u"damaged"_s));
  }

  void MarksAndNamesARunWithADamagedStart() {
    QVERIFY(replace("made-up processor", "made-up qrocessor") > 0);
    open_window();
    QTRY_VERIFY(shows_rows());
    QVERIFY(labels().contains(u"damaged, done"_s));
    QTRY_VERIFY(messages()->error().contains(u"attnscope export"_s));
    QVERIFY2(messages()->error().contains(u"attnscope.db"_s), qPrintable(messages()->error()));
  }

  void OpensOnceTheLockIsReleased() {
    Holder holder(database(), "everything");
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

  void StaysOpenUntilANoteIsStored() {
    open_window();
    QTRY_VERIFY(view()->run() != nullptr);
    Holder holder(database(), "writing");
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
    SignalLog released(store.reader(), &StoreReader::lock_released);
    SignalLog succeeded(store.reader(), &StoreReader::succeeded);
    SignalLog failed(store.reader(), &StoreReader::failed);
    store.start(1);
    Holder holder(database(), "writing");
    store.post(&StoreReader::remove_runs, QStringList{run_});
    store.post(&StoreReader::import_file, QString::fromStdString(exported().string()));
    QTRY_COMPARE(waiting.count(), 1);
    QCOMPARE(released.count() + succeeded.count(), 0);
    QCOMPARE(store.list().rowCount(), 1);
    holder.release();
    QTRY_COMPARE(succeeded.count(), 1);
    // It is imported only if the stored run was removed before.
    QVERIFY2(std::get<0>(succeeded.all().front()).startsWith(u"Imported 1 run"_s),
             qPrintable(std::get<0>(succeeded.all().front())));
    QTRY_COMPARE(store.list().rowCount(), 1);
    QTRY_COMPARE(released.count(), 1);
    QCOMPARE(failed.count(), 0);
    QCOMPARE(waiting.count(), 1);
  }

  void ReportsARequestThatTimedOut() {
    StoreClient store(database());
    store.reader()->set_most_tries(2);
    SignalLog failed(store.reader(), &StoreReader::failed);
    SignalLog released(store.reader(), &StoreReader::lock_released);
    store.start(1);
    Holder holder(database(), "writing");
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
    const RunInfo stored = stored_run("1");
    QCOMPARE(stored.name, std::string("typed"));
    QCOMPARE(stored.tag, std::string("quiet"));
    QCOMPARE(stored.note, std::string("fan off"));
  }

  void ReadsWhileAnotherProcessWrites() {
    const Holder holder(database(), "writing");
    open_window();
    QTRY_VERIFY(view()->run() != nullptr);
    QCOMPARE(view()->run()->table.rows.size(), std::size_t{6});
    QVERIFY(!messages()->isVisible());
    QVERIFY(holder.holds());
  }
};

ATTNSCOPE_GUI_TEST(DatabaseFaultsTest)

}  // namespace attnscope::gui
#include "database_faults_test.moc"
