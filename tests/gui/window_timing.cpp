// SPDX-License-Identifier: Apache-2.0
//
// attnscope_window_timing DATABASE [SWEEP.json]: the time until the real window can be used, the
// time of a frame, and the longest time for which one event blocks the window: while it opens,
// while every page is used and, with a sweep, while the sweep is measured.

#include <QElapsedTimer>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "app/gui/charts/map_view.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/watched_application.h"

namespace attnscope::gui {
namespace {

constexpr int frames = 31;

/// Prints the median and the largest time of several paints, in milliseconds.
void time_frames(const char* what, QWidget& widget) {
  std::vector<double> ms;
  ms.reserve(frames);
  QPixmap canvas(widget.size() * widget.devicePixelRatioF());
  canvas.setDevicePixelRatio(widget.devicePixelRatioF());
  for (int i = 0; i < frames; ++i) {
    QElapsedTimer clock;
    clock.start();
    widget.render(&canvas);
    ms.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
  }
  std::ranges::sort(ms);
  std::printf("%-44s %8.2f ms, slowest %8.2f ms\n", what, ms[frames / 2], ms.back());
}

void report_longest(const char* what, const WatchedApplication& application) {
  std::printf("%-44s %8.2f ms (%s)\n", what, application.longest().ms,
              qPrintable(application.longest().what));
}

bool has_rows(const MainWindow& window) {
  const RunPointer& run = window.compare()->run_view()->run();
  return run && !run->table.rows.empty();
}

int time_window(WatchedApplication& application, const std::filesystem::path& database,
                const char* sweep_file) {
  QElapsedTimer clock;
  clock.start();
  application.watch();
  MainWindow window({.database = database});
  window.show();
  const bool exposed = QTest::qWaitForWindowExposed(&window);
  std::printf("%-44s %8.0f ms\n", "window shown", static_cast<double>(clock.elapsed()));
  const bool known = QTest::qWaitFor([&] { return window.runs().is_known(); }, timeout_ms);
  std::printf("%-44s %8.0f ms\n", "runs listed", static_cast<double>(clock.elapsed()));
  const bool read = QTest::qWaitFor([&] { return has_rows(window); }, timeout_ms);
  std::printf("%-44s %8.0f ms\n", "first run drawn", static_cast<double>(clock.elapsed()));
  if (!exposed || !known || !read) {
    std::fprintf(stderr, "The database has no run with a finished heat.\n");
    return 1;
  }
  QTest::qWait(0);
  report_longest("longest block while opening", application);
  application.watch();
  window.show_page(MainWindow::patterns_page);
  QTest::qWait(0);
  report_longest("longest block, first look at Patterns", application);
  time_frames("frame: the mask", *window.patterns()->mask());
  window.show_page(MainWindow::compare_page);
  QTest::qWait(0);
  time_frames("frame: the charts", *window.compare()->run_view()->chart());
  if (!sweep_file) return 0;
  std::ifstream stream(sweep_file);
  const std::string sweep{std::istreambuf_iterator<char>(stream), {}};
  application.watch();
  const int before = window.runs().rowCount();
  window.start_run(sweep);
  const bool measured = QTest::qWaitFor(
      [&] { return window.runs().rowCount() > before && !window.runs().live(); }, 10 * timeout_ms);
  report_longest("longest block while measuring", application);
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace attnscope::gui

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "use: attnscope_window_timing DATABASE [SWEEP.json]\n");
    return 2;
  }
  const attnscope::gui::TestHome home;
  attnscope::gui::WatchedApplication application(argc, argv);
  qputenv("ATTNSCOPE_PROGRAM", QDir(QCoreApplication::applicationDirPath())
                                   .filePath(QStringLiteral("attnscope"))
                                   .toLocal8Bit());
  attnscope::gui::prepare_application();
  attnscope::gui::apply_theme(attnscope::gui::Theme::light);
  return attnscope::gui::time_window(application, argv[1], argc > 2 ? argv[2] : nullptr);
}
