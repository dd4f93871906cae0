// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/window.h"

#include <QApplication>
#include <QFontDatabase>
#include <QIcon>
#include <QSettings>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "app/gui/charts/figure_font.h"
#include "app/gui/main_window.h"
#include "app/gui/views/theme.h"

// Resources of a static library are not registered by themselves; the macro wants the global
// namespace.
static void register_icons() {
  Q_INIT_RESOURCE(icons);
}

namespace attnscope::gui {
namespace {

constexpr int exit_wrong_use = 2;

/// Qt ends the process when it finds no display; a person gets a sentence instead of its abort.
void say_no_display(QtMsgType type, const QMessageLogContext&, const QString&) {
  if (type != QtFatalMsg) return;
  const QString display = qEnvironmentVariable("WAYLAND_DISPLAY", qEnvironmentVariable("DISPLAY"));
  std::fprintf(stderr,
               "attnscope: the window cannot be opened on display '%s'; set DISPLAY to one that "
               "answers, or work without: attnscope run quick, then attnscope table last.\n",
               qPrintable(display));
  std::_Exit(exit_wrong_use);
}

std::unique_ptr<QApplication> make_application(int& argc, char** argv) {
  const QtMessageHandler usual = qInstallMessageHandler(say_no_display);
  auto application = std::make_unique<QApplication>(argc, argv);
  qInstallMessageHandler(usual);
  return application;
}

}  // namespace

int run_window(int argc, char** argv, const WindowOptions& options) {
  const std::unique_ptr<QApplication> application = make_application(argc, argv);
  prepare_application();
  apply_theme(theme_named(QSettings().value(QStringLiteral("window/theme")).toString()));
  MainWindow window(options);
  window.show();
  return QApplication::exec();
}

void prepare_application() {
  register_icons();
  // Names the folders of settings and of started runs.
  QCoreApplication::setApplicationName(QStringLiteral("attnscope"));
  QGuiApplication::setApplicationDisplayName(QStringLiteral("AttnScope"));
  QGuiApplication::setWindowIcon(QIcon(QStringLiteral(":/attnscope/icons/attnscope.svg")));
  if (QFontDatabase::families().isEmpty())
    QApplication::setFont(QFont(charts::figure_font_family(), 10));
}

}  // namespace attnscope::gui
