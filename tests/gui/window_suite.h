#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The base of suites that open a main window on a database in a temporary folder, with empty
// settings and fake_attnscope as the program.

#include <QSettings>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/page.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "app/gui/views/theme.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class WindowSuite : public QObject {
 protected:
  /// Call it from init(), and window_.reset() from cleanup().
  void reset() {
    folder_ = std::make_unique<QTemporaryDir>();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    QSettings().clear();
  }
  [[nodiscard]] QString path(const char* name) const {
    return folder_->filePath(QLatin1String(name));
  }
  QString write(const char* name, const QByteArray& text) const {
    return write_bytes(path(name), text);
  }
  [[nodiscard]] std::filesystem::path database() const {
    return path("attnscope.db").toStdString();
  }
  /// Adds finished runs to the database; the last one.
  RunId add_runs(const std::vector<std::string>& names,
                 const std::vector<std::int64_t>& lengths = {64}) const {
    Store store = open_store(database());
    RunId last;
    for (const std::string& name : names) last = add_done_run(store, name, lengths);
    return last;
  }
  /// Changes a run as another program would.
  void describe_run(const char* number, const RunWords& words) const {
    Store store = open_store(database());
    QVERIFY(store.describe_run(store.find_run(number)->id, words));
  }
  [[nodiscard]] RunInfo stored_run(const char* number) const {
    return *open_store(database()).find_run(number);
  }
  void open_window(WindowOptions options = {}) {
    if (options.database.empty()) options.database = database();
    window_ = std::make_unique<MainWindow>(options);
    window_->resize(1280, 800);
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
  }
  void restart() {
    window_->close();
    window_.reset();
    open_window();
  }
  [[nodiscard]] ComparePage* page() const { return window_->compare(); }
  [[nodiscard]] RunListPanel* panel() const { return page()->run_list(); }
  [[nodiscard]] RunView* view() const { return page()->run_view(); }
  [[nodiscard]] MessageBar* messages() const { return page()->messages(); }
  [[nodiscard]] bool shows_rows() const {
    return view()->run() && !view()->run()->table.rows.empty();
  }
  [[nodiscard]] RunStatus status_of(int row = 0) const {
    return static_cast<RunStatus>(
        window_->runs().index(row).data(RunListModel::status_role).toInt());
  }
  template <typename Widget>
  [[nodiscard]] Widget* find(const char* name) const {
    return window_->findChild<Widget*>(QLatin1String(name));
  }

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<MainWindow> window_;
};

/// Text of twice the size while it exists.
class LargeText {
 public:
  LargeText() { use(200); }
  ~LargeText() { use(100); }
  LargeText(const LargeText&) = delete;
  LargeText& operator=(const LargeText&) = delete;

 private:
  static void use(int percent) {
    store_text_size(percent);
    apply_text_size();
  }
};

}  // namespace attnscope::gui
