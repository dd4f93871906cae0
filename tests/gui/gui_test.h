#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What every suite of the window's tests stands on: offscreen, with settings and data in a folder
// that goes away. The suites of a program are chosen by their files' names: `window_test
// heats_test`.

#include <QTemporaryDir>
#include <QtTest>
#include <tuple>
#include <type_traits>
#include <vector>

#include "app/gui/views/theme.h"
#include "app/gui/window.h"
#include "tests/gui/watched_application.h"

// QTRY_VERIFY and its like of Qt 6.8 make an int of a count of milliseconds.
#pragma GCC diagnostic ignored "-Wconversion"

namespace attnscope::gui {

/// For what must happen: long enough for a machine that does other things beside.
constexpr int patience_ms = 60'000;

/// Must live as long as the application.
class TestHome {
 public:
  TestHome() {
    qputenv("XDG_DATA_HOME", folder_.filePath(QStringLiteral("data")).toUtf8());
    qputenv("XDG_CONFIG_HOME", folder_.filePath(QStringLiteral("config")).toUtf8());
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  }

 private:
  QTemporaryDir folder_;
};

/// What an object of another thread says, heard on this one; a QSignalSpy would write from there.
template <typename Sender, typename... Stated>
class Heard {
 public:
  Heard(const Sender* sender, void (Sender::*signal)(Stated...)) {
    QObject::connect(sender, signal, &here_,
                     [this](const std::decay_t<Stated>&... text) { all_.emplace_back(text...); });
  }
  [[nodiscard]] int count() const { return static_cast<int>(all_.size()); }
  [[nodiscard]] const std::vector<std::tuple<std::decay_t<Stated>...>>& all() const { return all_; }

 private:
  std::vector<std::tuple<std::decay_t<Stated>...>> all_;
  QObject here_;
};

using RunSuite = int (*)(int argc, char** argv);

/// Enters a suite of this program, whose main() is chosen_suite.cpp's.
bool enter_suite(const char* file, RunSuite run);

template <typename Test>
int run_suite(int argc, char** argv) {
  const TestHome home;
  WatchedApplication application(argc, argv);
  prepare_application();
  apply_theme(Theme::light);
  Test test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace attnscope::gui

#define ATTNSCOPE_GUI_TEST(Test) \
  [[maybe_unused]] static const bool entered_##Test = enter_suite(__FILE__, run_suite<Test>);
