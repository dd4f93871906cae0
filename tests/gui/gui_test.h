#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common to the window's tests: they run offscreen, with settings and data in a temporary folder.
// The suites of a program are chosen by the names of their files: `window_test heats_test`.

#include <QFile>
#include <QTemporaryDir>
#include <QWidget>
#include <QtTest>
#include <tuple>
#include <type_traits>
#include <vector>

#include "app/gui/views/theme.h"
#include "app/gui/window.h"
#include "tests/gui/watched_application.h"

// The QTRY macros of Qt 6.8 convert a count of milliseconds to int.
#pragma GCC diagnostic ignored "-Wconversion"

#undef QTRY_VERIFY
#undef QTRY_VERIFY2
#undef QTRY_COMPARE
#define QTRY_VERIFY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, attnscope::gui::timeout_ms)
#define QTRY_VERIFY2(condition, message) \
  QTRY_VERIFY2_WITH_TIMEOUT(condition, message, attnscope::gui::timeout_ms)
#define QTRY_COMPARE(actual, expected) \
  QTRY_COMPARE_WITH_TIMEOUT(actual, expected, attnscope::gui::timeout_ms)

namespace attnscope::gui {

using namespace Qt::StringLiterals;  // NOLINT(google-build-using-namespace)

/// Long enough for a loaded machine.
constexpr int timeout_ms = 60'000;

/// Must live as long as the application.
class TestHome {
 public:
  TestHome() {
    qputenv("XDG_DATA_HOME", folder_.filePath(u"data"_s).toUtf8());
    qputenv("XDG_CONFIG_HOME", folder_.filePath(u"config"_s).toUtf8());
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  }

 private:
  QTemporaryDir folder_;
};

/// Receives signals of an object in another thread on this thread, unlike QSignalSpy.
template <typename Sender, typename... Values>
class SignalLog {
 public:
  SignalLog(const Sender* sender, void (Sender::*signal)(Values...)) {
    QObject::connect(sender, signal, &here_,
                     [this](const std::decay_t<Values>&... each) { all_.emplace_back(each...); });
  }
  [[nodiscard]] int count() const { return static_cast<int>(all_.size()); }
  [[nodiscard]] const std::vector<std::tuple<std::decay_t<Values>...>>& all() const { return all_; }

 private:
  std::vector<std::tuple<std::decay_t<Values>...>> all_;
  QObject here_;
};

/// Writes a file, and returns its name.
inline QString write_bytes(const QString& name, const QByteArray& bytes) {
  QFile file(name);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
    qFatal("%s was not written", qPrintable(name));
  return name;
}
/// The bytes of a file; nothing if it cannot be read.
inline QByteArray read_bytes(const QString& name) {
  QFile file(name);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

inline void double_text(QWidget& widget) {
  QFont large = widget.font();
  large.setPointSizeF(2 * large.pointSizeF());
  widget.setFont(large);
}

using RunSuite = int (*)(int argc, char** argv);

/// Registers a suite of this program; main() is in chosen_suite.cpp.
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
