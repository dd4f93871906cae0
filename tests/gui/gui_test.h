#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// main() of a window test: offscreen, with settings and data in a folder that goes away.

#include <QApplication>
#include <QTemporaryDir>
#include <QtTest>

#include "app/gui/views/theme.h"
#include "app/gui/window.h"

namespace attnscope::gui {

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

template <typename Test, typename Application = QApplication>
int run_gui_test(int argc, char** argv) {
  const TestHome home;
  Application application(argc, argv);
  prepare_application();
  apply_theme(Theme::light);
  Test test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace attnscope::gui

#define ATTNSCOPE_GUI_TEST_MAIN(Test)                      \
  int main(int argc, char** argv) {                        \
    return attnscope::gui::run_gui_test<Test>(argc, argv); \
  }
