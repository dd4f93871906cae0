// SPDX-License-Identifier: Apache-2.0
//
// No event blocks the window for more than 50 ms while a store of a million samples opens or while
// a sweep is measured.
#include <fstream>

#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"
#include "tests/gui/watched_application.h"
#include "tests/store/large_store.h"

namespace attnscope::gui {

#ifdef __SANITIZE_ADDRESS__
// The sanitizers multiply every figure.
constexpr double longest_block_ms = 500;
constexpr int small_runs = 50;
#else
constexpr double longest_block_ms = 50;
constexpr int small_runs = 950;
#endif

class ResponsiveWindowTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;

  [[nodiscard]] std::filesystem::path database() const {
    return folder_->filePath(u"attnscope.db"_s).toStdString();
  }
  [[nodiscard]] static WatchedApplication& application() {
    return *static_cast<WatchedApplication*>(QCoreApplication::instance());
  }
  [[nodiscard]] static bool has_rows(const MainWindow& window) {
    const RunPointer& run = window.compare()->run_view()->run();
    return run && !run->table.rows.empty();
  }
  /// Three tries, because the machine can pause.
  template <typename Use>
  static void verify_never_blocked(Use use) {
    Block longest;
    for (int attempt = 0; attempt < 3; ++attempt) {
      application().watch();
      use();
      if (QTest::currentTestFailed()) return;
      longest = application().longest();
      if (longest.ms <= longest_block_ms) return;
    }
    QFAIL(qPrintable(u"%1 ms in %2"_s.arg(longest.ms).arg(longest.what)));
  }

 private Q_SLOTS:

  void init() {
    // In memory if possible: the store syncs after every run.
    const QString memory = u"/dev/shm"_s;
    folder_ = std::make_unique<QTemporaryDir>(
        (QFileInfo(memory).isWritable() ? memory : QDir::tempPath()) + u"/attnscope-XXXXXX"_s);
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    QSettings().clear();
  }

  void DetectsALongEvent() {
    application().watch();
    QTimer::singleShot(0, [] { QThread::msleep(60); });
    QTRY_VERIFY(application().longest().ms >= 60);
  }

  void OpensAMillionSamplesWithoutBlocking() {
    fill_large_store(database(), {.small_runs = small_runs, .cells = 20, .samples = 50});
    verify_never_blocked([this] {
      MainWindow window({.database = database()});
      window.show();
      QTRY_VERIFY(has_rows(window));
      QCOMPARE(window.runs().rowCount(), small_runs + 1);
      window.show_page(MainWindow::patterns_page);
      QVERIFY(QTest::qWaitForWindowExposed(&window));
    });
  }

  void MeasuresWithoutBlocking() {
#if HAS_REAL_WORKER
    qputenv("ATTNSCOPE_PROGRAM", REAL_ATTNSCOPE);
#endif
    verify_never_blocked([this] {
      MainWindow window({.database = database()});
      window.show();
      QTRY_VERIFY(window.runs().is_known());
      const int before = window.runs().rowCount();
      window.start_run(
          R"({"name": "watched", "contenders": ["full/sdpa", "sparse/segment"], "windows": [4],
              "query_tokens": 10, "sequence_tokens": [64, 128, 256], "heads": 2, "head_dim": 32,
              "stop": {"max_seconds": 0.05, "min_samples": 3, "placements": 1, "processes": 1}})");
      QTRY_VERIFY(window.runs().rowCount() > before && !window.runs().live());
      QTRY_VERIFY(has_rows(window));
    });
  }
};

ATTNSCOPE_GUI_TEST(ResponsiveWindowTest)

}  // namespace attnscope::gui
#include "responsive_window_test.moc"
