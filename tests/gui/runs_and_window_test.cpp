// SPDX-License-Identifier: Apache-2.0
//
// Runs and windows are separate processes: a run survives its window, and several of both share a
// database.

#include <QProcess>
#include <QPushButton>
#include <csignal>

#include "app/gui/views/progress_strip.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

class RunsAndWindowTest : public WindowSuite {
  Q_OBJECT

  [[nodiscard]] static std::string sweep_named(const char* name, const char* lengths) {
    return std::string("{\"name\": \"") + name +
           "\", \"contenders\": [\"full/dense\", \"sparse/segment\"], \"windows\": [4], "
           "\"sequence_tokens\": " +
           lengths + "}";
  }
  [[nodiscard]] QString sweep_file(const std::string& text) const {
    return write("sweep.json", QByteArray::fromStdString(text));
  }
  [[nodiscard]] std::unique_ptr<MainWindow> another_window() const {
    auto window = std::make_unique<MainWindow>(WindowOptions{.database = database()});
    window->resize(1280, 800);
    window->show();
    return window;
  }
  /// A window in another process that measures the sweep this many times.
  void start_window(QProcess& window, const std::string& sweep, const char* times = "1") const {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(u"TMPDIR"_s, folder_->path());  // a killed process leaves its folder
    window.setProcessEnvironment(environment);
    window.start(QStringLiteral(DRIVE_WINDOW),
                 {path("attnscope.db"), sweep_file(sweep), QLatin1String(times)});
  }
  /// Kills a window in another process while its run is measured; that run.
  [[nodiscard]] RunInfo kill_window(MainWindow& watching, const std::string& sweep) const {
    QProcess killed;
    start_window(killed, sweep);
    if (!QTest::qWaitFor([&] { return measured(watching).has_value(); }, timeout_ms))
      qFatal("the run did not begin");
    const RunInfo run = *measured(watching);
    killed.kill();
    killed.waitForFinished(timeout_ms);
    return run;
  }
  /// Starts the real program and waits until it has opened its database.
  void start_real_window(QProcess& window) const {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* home : {"XDG_DATA_HOME", "XDG_CONFIG_HOME", "TMPDIR"})
      environment.insert(QLatin1String(home), folder_->path());
    window.setProcessEnvironment(environment);
    window.start(QStringLiteral(REAL_ATTNSCOPE), {u"--db"_s, path("attnscope.db")});
    const QDir files(u"/proc/%1/fd"_s.arg(window.processId()));
    const auto has_opened = [&] {
      const QFileInfoList open = files.entryInfoList(QDir::NoDotAndDotDot | QDir::AllEntries);
      return std::ranges::any_of(open, [&](const QFileInfo& file) {
        return file.symLinkTarget() == path("attnscope.db");
      });
    };
    QTRY_VERIFY(has_opened());
  }
  /// The run that is being measured and has a heat.
  [[nodiscard]] static std::optional<RunInfo> measured(MainWindow& window) {
    const RunEntry* live = window.runs().live();
    return live && live->info.heats_done > 0 ? std::optional(live->info) : std::nullopt;
  }
  [[nodiscard]] static RunStatus status_of(const RunListModel& runs, const std::string& uuid) {
    return static_cast<RunStatus>(
        runs.index_of(QString::fromStdString(uuid)).data(RunListModel::status_role).toInt());
  }
  [[nodiscard]] std::vector<std::int64_t> lengths_of(const std::string& uuid) const {
    std::vector<std::int64_t> lengths;
    const Store store = open_store(database());
    const std::vector<StoredCell> cells = store.cells(RunId{uuid}, false).value();
    for (const StoredCell& cell : cells) lengths.push_back(cell.point.sequence_tokens);
    return lengths;
  }

 private Q_SLOTS:

  void init() {
    reset();
    (void)open_store(database());  // so that no process creates it concurrently
  }

  void IgnoresHangupUnderNohupAndClosesOnATermSignal() {
    for (const bool nohup : {false, true}) {
      QProcess window;
      if (nohup) window.setChildProcessModifier([] { ::signal(SIGHUP, SIG_IGN); });
      start_real_window(window);
      QFile status(u"/proc/%1/status"_s.arg(window.processId()));
      QVERIFY(status.open(QIODevice::ReadOnly));
      const QByteArray all = status.readAll();
      const qsizetype at = all.indexOf("SigIgn:");
      const quint64 ignored = all.mid(at + 7, 24).trimmed().left(16).toULongLong(nullptr, 16);
      QCOMPARE((ignored >> (SIGHUP - 1) & 1) != 0, nohup);
      ::kill(static_cast<pid_t>(window.processId()), SIGTERM);
      QVERIFY(window.waitForFinished(timeout_ms));
      QCOMPARE(window.exitStatus(), QProcess::NormalExit);
      QCOMPARE(window.exitCode(), 0);
    }
  }

  void CancelsTheRunOfAKilledWindow() {
    const auto window = another_window();
    const RunInfo run = kill_window(*window, sweep_named("until-cancelled", "[64, 128]"));
    QVERIFY(is_alive(run.start.process_id, run.start.process_start_ticks));

    const auto next = another_window();
    auto* cancel = next->findChild<QPushButton*>(u"cancel"_s);
    QTRY_VERIFY(cancel->isVisible());
    QTest::mouseClick(cancel, Qt::LeftButton);
    QTRY_COMPARE(status_of(next->runs(), run.id.uuid), RunStatus::cancelled);
    QCOMPARE(next->runs().entry(QString::fromStdString(run.id.uuid))->info.heats_done, 1);
  }

  void CompletesTheRunOfAKilledWindow() {
    const auto window = another_window();
    const RunInfo run = kill_window(*window, sweep_named("until-signalled", "[64, 128, 256]"));
    QCOMPARE(::kill(static_cast<pid_t>(run.start.process_id), SIGUSR1), 0);
    QTRY_COMPARE(status_of(window->runs(), run.id.uuid), RunStatus::done);
    QCOMPARE(lengths_of(run.id.uuid), (std::vector<std::int64_t>{64, 64, 128, 128, 256, 256}));
  }

  void CompletesTheRunOfAClosedWindow() {
    auto window = another_window();
    QTRY_VERIFY(window->runs().is_known());
    window->start_run(sweep_named("until-signalled", "[64, 128]"));
    QTRY_VERIFY(measured(*window).has_value());
    const RunInfo run = *measured(*window);
    window->close();
    window.reset();
    QCOMPARE(::kill(static_cast<pid_t>(run.start.process_id), SIGUSR1), 0);
    window = another_window();
    QTRY_VERIFY(window->runs().is_known());
    QTRY_COMPARE(status_of(window->runs(), run.id.uuid), RunStatus::done);
    const auto rows = [&] {  // none while the run is being read
      const auto shown = window->compare()->run_view()->run();
      return shown ? shown->table.rows.size() : 0;
    };
    QTRY_COMPARE(rows(), std::size_t{4});
  }

  void MeasuresAlongsideTheCommandLine() {
    QProcess command_line;
    command_line.start(QStringLiteral(FAKE_ATTNSCOPE),
                       {u"run"_s, sweep_file(sweep_named("until-signalled", "[64, 128]")),
                        u"--db"_s, path("attnscope.db")});
    auto window = another_window();
    QTRY_VERIFY(measured(*window).has_value());
    const RunInfo first = *measured(*window);
    window->start_run(sweep_named("from-the-window", "[256, 512]"));
    QTRY_COMPARE(window->runs().rowCount(), 2);
    QTRY_COMPARE(status_of(window->runs(), first.id.uuid), RunStatus::running);
    const QString first_uuid = QString::fromStdString(first.id.uuid);
    const int other = window->runs().index_of(first_uuid).row() == 0 ? 1 : 0;
    const QString second = window->runs().index(other).data(RunListModel::uuid_role).toString();
    QTRY_COMPARE(status_of(window->runs(), second.toStdString()), RunStatus::done);
    QCOMPARE(::kill(static_cast<pid_t>(first.start.process_id), SIGUSR1), 0);
    QTRY_COMPARE(status_of(window->runs(), first.id.uuid), RunStatus::done);
    QTRY_COMPARE(command_line.state(), QProcess::NotRunning);
    QCOMPARE(command_line.exitCode(), 0);
    QCOMPARE(lengths_of(first.id.uuid), (std::vector<std::int64_t>{64, 64, 128, 128}));
    QCOMPARE(lengths_of(second.toStdString()), (std::vector<std::int64_t>{256, 256, 512, 512}));
  }

  void MeasuresRepeatedlyAndReportsAnErrorOfTheDriver() {
    QProcess window;
    start_window(window, sweep_named("driven", "[64]"), "2");
    QVERIFY(window.waitForFinished(timeout_ms));
    QCOMPARE(window.exitCode(), 0);
    QVERIFY(window.readAllStandardOutput().startsWith("run 1 of 2 done\nrun 2 of 2 done\n"));
    const Store store = open_store(database());
    const std::vector<RunInfo> runs = store.runs().value();
    QCOMPARE(runs.size(), std::size_t{2});
    for (const RunInfo& run : runs) QCOMPARE(run.status, RunStatus::done);
    start_window(window, sweep_named("refused", "[64]"));
    QVERIFY(window.waitForFinished(timeout_ms));
    QCOMPARE(window.exitCode(), 1);
    QVERIFY(window.readAllStandardError().endsWith("the worker attnscope-worker was not found.\n"));
  }
};

ATTNSCOPE_GUI_TEST(RunsAndWindowTest)

}  // namespace attnscope::gui
#include "runs_and_window_test.moc"
