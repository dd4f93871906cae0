// SPDX-License-Identifier: Apache-2.0
//
// attnscope_drive_window DATABASE SWEEP.json TIMES: the real window on a real database starts the
// sweep as its form does and waits for the end of the run, TIMES times. Offscreen unless
// QT_QPA_PLATFORM is set. The last line is the cost of the open window. ATTNSCOPE_PROGRAM and
// ATTNSCOPE_WORKER override the programs in the same folder.

#include <sys/resource.h>

#include <QElapsedTimer>
#include <QEventLoop>
#include <cstdio>

#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/page.h"
#include "engine/sweep/sweep.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Continues when a new run has ended or the page shows an error; it does not poll, so that waiting
/// costs nothing.
class RunEnd {
 public:
  RunEnd(MainWindow& window, int runs_before) : window_(window), runs_before_(runs_before) {}

  bool wait() {
    QEventLoop loop;
    const auto look = [&] {
      if (ended() || !problem().isEmpty()) loop.quit();
    };
    QObject::connect(&window_.runs(), &QAbstractItemModel::dataChanged, &loop, look);
    QObject::connect(&window_.runs(), &QAbstractItemModel::rowsInserted, &loop, look);
    QObject::connect(window_.compare()->messages(), &MessageBar::error_shown, &loop, look);
    if (!ended() && problem().isEmpty()) loop.exec();
    if (!ended()) {
      std::fprintf(stderr, "%s\n", qPrintable(problem()));
      return false;
    }
    const bool done = status() == RunStatus::done;
    if (!done)
      std::fprintf(stderr, "the run ended as %s\n", std::string(name_of(status())).c_str());
    return done;
  }

 private:
  /// Live runs are first, then the newest.
  [[nodiscard]] RunStatus status() const {
    return static_cast<RunStatus>(window_.runs().index(0).data(RunListModel::status_role).toInt());
  }
  [[nodiscard]] bool ended() const {
    return window_.runs().rowCount() > runs_before_ && status() != RunStatus::running;
  }
  [[nodiscard]] QString problem() const { return window_.compare()->messages()->error(); }

  MainWindow& window_;
  int runs_before_;
};

int drive(const std::filesystem::path& database, const std::string& sweep_text, int times) {
  MainWindow window({.database = database});
  window.resize(1280, 800);
  window.show();
  if (!QTest::qWaitFor([&] { return window.runs().is_known(); }, 30'000)) {
    std::fprintf(stderr, "the window could not read %s\n", database.c_str());
    return 3;
  }
  QElapsedTimer time;
  time.start();
  const double before = processor_seconds();
  for (int i = 0; i < times; ++i) {
    const int runs = window.runs().rowCount();
    window.start_run(sweep_text);
    if (!RunEnd(window, runs).wait()) return 1;
    std::printf("run %d of %d done\n", i + 1, times);
    std::fflush(stdout);
  }
  std::printf("the window used %.2f s of the processor in %.1f s\n", processor_seconds() - before,
              static_cast<double>(time.elapsed()) / 1000);
  return 0;
}

}  // namespace
}  // namespace attnscope::gui

int main(int argc, char** argv) {
  const int times = argc == 4 ? std::atoi(argv[3]) : 0;
  if (times < 1) {
    std::fprintf(stderr, "use: attnscope_drive_window DATABASE SWEEP.json TIMES\n");
    return 2;
  }
  const attnscope::Result<attnscope::Sweep> sweep = attnscope::load_sweep(argv[2]);
  if (!sweep) {
    std::fprintf(stderr, "%s\n", sweep.error().message.c_str());
    return 2;
  }
  const attnscope::gui::TestHome home;
  QApplication application(argc, argv);
  if (!qEnvironmentVariableIsSet("ATTNSCOPE_PROGRAM")) {
    qputenv("ATTNSCOPE_PROGRAM", QDir(QCoreApplication::applicationDirPath())
                                     .filePath(QStringLiteral("attnscope"))
                                     .toLocal8Bit());
  }
  attnscope::gui::prepare_application();
  attnscope::gui::apply_theme(attnscope::gui::Theme::light);
  return attnscope::gui::drive(argv[1], sweep->text, times);
}
