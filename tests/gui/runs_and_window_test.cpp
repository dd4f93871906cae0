// SPDX-License-Identifier: Apache-2.0
//
// Runs and windows are processes of their own: no window's end ends a run, and several of either
// share a database.

#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <csignal>

#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class RunsAndWindowTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;

  [[nodiscard]] QString database() const { return folder_->filePath(QStringLiteral("a.db")); }
  [[nodiscard]] static std::string sweep_named(const char* name, const char* lengths) {
    return std::string("{\"name\": \"") + name +
           "\", \"contenders\": [\"full/dense\", \"sparse/segment\"], \"windows\": [4], "
           "\"sequence_tokens\": " +
           lengths + "}";
  }
  [[nodiscard]] QString sweep_file(const std::string& text) const {
    const QString name = folder_->filePath(QStringLiteral("sweep.json"));
    QFile file(name);
    if (file.open(QIODevice::WriteOnly)) file.write(QByteArray::fromStdString(text));
    return name;
  }
  [[nodiscard]] std::unique_ptr<MainWindow> open_window() const {
    auto window = std::make_unique<MainWindow>(WindowOptions{.database = database().toStdString()});
    window->resize(1280, 800);
    window->show();
    return window;
  }
  /// A window in another process that has started the sweep and waits for its end.
  void start_window(QProcess& window, const std::string& sweep) const {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("TMPDIR"), folder_->path());  // a killed one leaves its home
    window.setProcessEnvironment(environment);
    window.start(QStringLiteral(DRIVE_WINDOW),
                 {database(), sweep_file(sweep), QStringLiteral("1")});
  }
  /// The program itself, until it has opened its database.
  void start_real_window(QProcess& window) const {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* home : {"XDG_DATA_HOME", "XDG_CONFIG_HOME", "TMPDIR"})
      environment.insert(QLatin1String(home), folder_->path());
    window.setProcessEnvironment(environment);
    window.start(QStringLiteral(REAL_ATTNSCOPE), {QStringLiteral("--db"), database()});
    const QDir files(QStringLiteral("/proc/%1/fd").arg(window.processId()));
    const auto has_opened = [&] {
      const QFileInfoList open = files.entryInfoList(QDir::NoDotAndDotDot | QDir::AllEntries);
      return std::ranges::any_of(
          open, [&](const QFileInfo& file) { return file.symLinkTarget() == database(); });
    };
    QTRY_VERIFY_WITH_TIMEOUT(has_opened(), patience_ms);
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
    const Store store = open_store(database().toStdString());
    const std::vector<StoredCell> cells = store.cells(RunId{uuid}, false).value();
    for (const StoredCell& cell : cells) lengths.push_back(cell.point.sequence_tokens);
    return lengths;
  }

 private Q_SLOTS:

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    QSettings().clear();
    (void)open_store(database().toStdString());  // is made by none of those who share it
  }

  void ClosesOnATermSignal() {
    QProcess window;
    start_real_window(window);
    ::kill(static_cast<pid_t>(window.processId()), SIGTERM);
    QVERIFY(window.waitForFinished(patience_ms));
    QCOMPARE(window.exitStatus(), QProcess::NormalExit);
    QCOMPARE(window.exitCode(), 0);
  }

  void IgnoresHangupUnderNohup() {
    for (const bool nohup : {false, true}) {
      QProcess window;
      if (nohup) window.setChildProcessModifier([] { ::signal(SIGHUP, SIG_IGN); });
      start_real_window(window);
      QFile status(QStringLiteral("/proc/%1/status").arg(window.processId()));
      QVERIFY(status.open(QIODevice::ReadOnly));
      const QByteArray all = status.readAll();
      const qsizetype at = all.indexOf("SigIgn:");
      const quint64 ignored = all.mid(at + 7, 24).trimmed().left(16).toULongLong(nullptr, 16);
      QCOMPARE((ignored >> (SIGHUP - 1) & 1) != 0, nohup);
      ::kill(static_cast<pid_t>(window.processId()), SIGTERM);
      QVERIFY(window.waitForFinished(patience_ms));
    }
  }

  void CancelsTheRunOfAKilledWindow() {
    QProcess killed;
    start_window(killed, sweep_named("until-cancelled", "[64, 128]"));
    const auto window = open_window();
    QTRY_VERIFY_WITH_TIMEOUT(measured(*window).has_value(), patience_ms);
    const RunInfo run = *measured(*window);
    killed.kill();
    QVERIFY(killed.waitForFinished(patience_ms));
    QVERIFY(is_alive(run.start.process_id, run.start.process_start_ticks));

    const auto next = open_window();
    auto* cancel = next->findChild<QPushButton*>(QStringLiteral("cancel"));
    QTRY_VERIFY_WITH_TIMEOUT(cancel->isVisible(), patience_ms);
    QTest::mouseClick(cancel, Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(next->runs(), run.id.uuid), RunStatus::cancelled,
                              patience_ms);
    QCOMPARE(next->runs().entry(QString::fromStdString(run.id.uuid))->info.heats_done, 1);
  }

  void CompletesTheRunOfAKilledWindow() {
    QProcess killed;
    start_window(killed, sweep_named("until-told", "[64, 128, 256]"));
    const auto window = open_window();
    QTRY_VERIFY_WITH_TIMEOUT(measured(*window).has_value(), patience_ms);
    const RunInfo run = *measured(*window);
    killed.kill();
    QVERIFY(killed.waitForFinished(patience_ms));
    QCOMPARE(::kill(static_cast<pid_t>(run.start.process_id), SIGUSR1), 0);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window->runs(), run.id.uuid), RunStatus::done, patience_ms);
    QCOMPARE(lengths_of(run.id.uuid), (std::vector<std::int64_t>{64, 64, 128, 128, 256, 256}));
  }

  void CompletesTheRunOfAClosedWindow() {
    auto window = open_window();
    QTRY_VERIFY_WITH_TIMEOUT(window->runs().is_known(), patience_ms);
    window->start_run(sweep_named("until-told", "[64, 128]"));
    QTRY_VERIFY_WITH_TIMEOUT(measured(*window).has_value(), patience_ms);
    const RunInfo run = *measured(*window);
    window->close();
    window.reset();
    QCOMPARE(::kill(static_cast<pid_t>(run.start.process_id), SIGUSR1), 0);
    window = open_window();
    QTRY_VERIFY_WITH_TIMEOUT(window->runs().is_known(), patience_ms);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window->runs(), run.id.uuid), RunStatus::done, patience_ms);
    const auto rows = [&] {  // none while the run is being read
      const auto shown = window->compare()->run_view()->run();
      return shown ? shown->table.rows.size() : 0;
    };
    QTRY_COMPARE_WITH_TIMEOUT(rows(), std::size_t{4}, patience_ms);
  }

  void MeasuresAlongsideTheCommandLine() {
    QProcess command_line;
    command_line.start(QStringLiteral(FAKE_ATTNSCOPE),
                       {QStringLiteral("run"), sweep_file(sweep_named("until-told", "[64, 128]")),
                        QStringLiteral("--db"), database()});
    auto window = open_window();
    QTRY_VERIFY_WITH_TIMEOUT(measured(*window).has_value(), patience_ms);
    const RunInfo first = *measured(*window);
    window->start_run(sweep_named("from-the-window", "[256, 512]"));
    QTRY_COMPARE_WITH_TIMEOUT(window->runs().rowCount(), 2, patience_ms);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window->runs(), first.id.uuid), RunStatus::running,
                              patience_ms);
    const QString first_uuid = QString::fromStdString(first.id.uuid);
    const int other = window->runs().index_of(first_uuid).row() == 0 ? 1 : 0;
    const QString second = window->runs().index(other).data(RunListModel::uuid_role).toString();
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window->runs(), second.toStdString()), RunStatus::done,
                              patience_ms);
    QCOMPARE(::kill(static_cast<pid_t>(first.start.process_id), SIGUSR1), 0);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window->runs(), first.id.uuid), RunStatus::done,
                              patience_ms);
    QTRY_COMPARE_WITH_TIMEOUT(command_line.state(), QProcess::NotRunning, patience_ms);
    QCOMPARE(command_line.exitCode(), 0);
    QCOMPARE(lengths_of(first.id.uuid), (std::vector<std::int64_t>{64, 64, 128, 128}));
    QCOMPARE(lengths_of(second.toStdString()), (std::vector<std::int64_t>{256, 256, 512, 512}));
  }

  void MeasuresRepeatedly() {
    QProcess window;
    window.start(QStringLiteral(DRIVE_WINDOW),
                 {database(), sweep_file(sweep_named("driven", "[64]")), QStringLiteral("2")});
    QVERIFY(window.waitForFinished(patience_ms));
    QCOMPARE(window.exitCode(), 0);
    QVERIFY(window.readAllStandardOutput().startsWith("run 1 of 2 done\nrun 2 of 2 done\n"));
    const Store store = open_store(database().toStdString());
    const std::vector<RunInfo> runs = store.runs().value();
    QCOMPARE(runs.size(), std::size_t{2});
    for (const RunInfo& run : runs) QCOMPARE(run.status, RunStatus::done);
  }

  void ReportsAnErrorOfTheDriver() {
    QProcess window;
    window.start(QStringLiteral(DRIVE_WINDOW),
                 {database(), sweep_file(sweep_named("refused", "[64]")), QStringLiteral("1")});
    QVERIFY(window.waitForFinished(patience_ms));
    QCOMPARE(window.exitCode(), 1);
    QVERIFY(window.readAllStandardError().endsWith("the worker attnscope-worker was not found.\n"));
  }
};

ATTNSCOPE_GUI_TEST(RunsAndWindowTest)

}  // namespace attnscope::gui
#include "runs_and_window_test.moc"
