// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/window.h"

#include <fcntl.h>
#include <unistd.h>

#include <QApplication>
#include <QFileInfo>
#include <QFontDatabase>
#include <QIcon>
#include <QSettings>
#include <QSocketNotifier>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "app/drawing/chart_style.h"
#include "app/gui/main_window.h"
#include "app/gui/views/theme.h"
#include "engine/store/store.h"

// The resources of a static library are not registered automatically; the macro must be used in the
// global namespace.
static void register_icons() {
  Q_INIT_RESOURCE(icons);
}

namespace attnscope::gui {
namespace {

constexpr int exit_wrong_use = 2;

/// Qt aborts the process when it finds no display; this prints a sentence instead.
void report_no_display(QtMsgType type, const QMessageLogContext&, const QString&) {
  if (type != QtFatalMsg) return;
  const QString display = qEnvironmentVariable("WAYLAND_DISPLAY", qEnvironmentVariable("DISPLAY"));
  std::fprintf(
      stderr,
      "attnscope: the window cannot be opened on display '%s'; set DISPLAY to a running display "
      "server, or use the command line: attnscope run quick, then attnscope table last.\n",
      qPrintable(display));
  std::_Exit(exit_wrong_use);
}

/// The database of the command line, otherwise the last one, otherwise the default one.
WindowOptions options_of(const WindowArguments& arguments) {
  WindowOptions options{.database = default_database(),
                        .file = arguments.file,
                        .start_quick_sweep = arguments.start_quick_sweep};
  const QString last = QSettings().value(QStringLiteral("window/database")).toString();
  if (arguments.database) {
    options.database = std::filesystem::absolute(*arguments.database);
  } else if (!last.isEmpty() && QFileInfo::exists(last)) {
    options.database = last.toStdString();
  }
  return options;
}

std::unique_ptr<QApplication> make_application(int& argc, char** argv) {
  const QtMessageHandler usual = qInstallMessageHandler(report_no_display);
  auto application = std::make_unique<QApplication>(argc, argv);
  qInstallMessageHandler(usual);
  return application;
}

}  // namespace

namespace {

int end_requested[2] = {-1, -1};

extern "C" void request_end(int /*signal*/) {
  const char requested = 0;
  // A full pipe already contains a request.
  [[maybe_unused]] const ssize_t written = ::write(end_requested[1], &requested, 1);
}

/// A signal that ends the session closes the window as the user would: unsaved text is stored
/// first. Under nohup, the end of the terminal is ignored.
void on_end_request(QObject* context, const std::function<void()>& close) {
  if (::pipe2(end_requested, O_CLOEXEC | O_NONBLOCK) != 0) return;
  auto* notifier = new QSocketNotifier(end_requested[0], QSocketNotifier::Read, context);
  QObject::connect(notifier, &QSocketNotifier::activated, context, [close] {
    char requested = 0;
    while (::read(end_requested[0], &requested, 1) > 0) continue;
    close();
  });
  struct sigaction action {};
  action.sa_handler = request_end;
  action.sa_flags = SA_RESTART;
  struct sigaction before {};
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    ::sigaction(signal, nullptr, &before);
    if (signal != SIGHUP || before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

int run_window(int argc, char** argv, const WindowArguments& arguments) {
  const std::unique_ptr<QApplication> application = make_application(argc, argv);
  prepare_application();
  apply_theme(theme_named(QSettings().value(QStringLiteral("window/theme")).toString()));
  std::unique_ptr<MainWindow> window;
  std::function<void(const WindowOptions&)> open = [&](const WindowOptions& options) {
    apply_text_size();
    auto next = std::make_unique<MainWindow>(options);
    // Queued: the requesting window must not be destroyed during its own signal.
    QObject::connect(next.get(), &MainWindow::window_requested, application.get(), open,
                     Qt::QueuedConnection);
    if (window) window->close();
    next->show();
    window = std::move(next);
  };
  on_end_request(application.get(), [&window] {
    if (window) window->close();
  });
  open(options_of(arguments));
  return QApplication::exec();
}

void prepare_application() {
  register_icons();
  // Both determine the name of the settings file.
  QCoreApplication::setOrganizationName(QStringLiteral("AttnScope"));
  QCoreApplication::setApplicationName(QStringLiteral("attnscope"));
  QGuiApplication::setApplicationDisplayName(QStringLiteral("AttnScope"));
  QGuiApplication::setWindowIcon(QIcon(QStringLiteral(":/attnscope/icons/attnscope.svg")));
  if (QFontDatabase::families().isEmpty())
    QApplication::setFont(QFont(charts::figure_font_family(), 10));
}

}  // namespace attnscope::gui
