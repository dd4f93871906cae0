// SPDX-License-Identifier: Apache-2.0
//
// attnscope_screenshots DATABASE FOLDER [WIDTHxHEIGHT]: both pages and the new-run form of the real
// window on a real database, light and dark, as PNG. QT_SCALE_FACTOR=2 doubles them.

#include <QSettings>
#include <cstdio>

#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/new_run_dialog.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

constexpr int patience_ms = 10'000;

bool save(QWidget& widget, const QString& file) {
  QTest::qWait(0);  // layout and polish
  if (widget.grab().save(file)) return true;
  std::fprintf(stderr, "Cannot write %s.\n", qPrintable(file));
  return false;
}

bool shoot(MainWindow& window, const QString& folder, Theme theme) {
  window.set_theme(theme);
  const QString suffix = QLatin1Char('-') + name_of(theme) + QStringLiteral(".png");
  window.show_page(MainWindow::compare_page);
  bool saved = save(window, folder + QStringLiteral("/compare") + suffix);
  window.show_page(MainWindow::patterns_page);
  saved = save(window, folder + QStringLiteral("/patterns") + suffix) && saved;
  window.open_new_run();
  auto* form = window.findChild<NewRunDialog*>();
  const bool listed = QTest::qWaitFor([&] { return !form || form->is_listed(); }, patience_ms);
  if (form && listed) {
    saved = save(*form, folder + QStringLiteral("/new-run") + suffix) && saved;
    form->reject();
  }
  return saved;
}

int shoot_all(const std::filesystem::path& database, const QString& folder, QSize size) {
  MainWindow window({.database = database});
  window.resize(size);
  window.show();
  const bool shown = QTest::qWaitFor(
      [&] {
        const RunPointer& run = window.compare()->run_view()->run();
        return run && !run->table.rows.empty();
      },
      patience_ms);
  if (!shown) std::fprintf(stderr, "No run with a finished heat was read; the page is empty.\n");
  const bool light = shoot(window, folder, Theme::light);
  const bool dark = shoot(window, folder, Theme::dark);
  return light && dark ? 0 : 1;
}

}  // namespace
}  // namespace attnscope::gui

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "use: attnscope_screenshots DATABASE FOLDER [WIDTHxHEIGHT]\n");
    return 2;
  }
  const attnscope::gui::TestHome home;
  QApplication application(argc, argv);
  // Else the window would ask this program for the list of implementations.
  qputenv("ATTNSCOPE_PROGRAM", QDir(QCoreApplication::applicationDirPath())
                                   .filePath(QStringLiteral("attnscope"))
                                   .toLocal8Bit());
  attnscope::gui::prepare_application();
  attnscope::gui::apply_theme(attnscope::gui::Theme::light);
  QSize size(1280, 800);
  if (argc > 3) {
    const QStringList sides = QString::fromLocal8Bit(argv[3]).split(QLatin1Char('x'));
    if (sides.size() == 2) size = QSize(sides[0].toInt(), sides[1].toInt());
  }
  QDir().mkpath(QString::fromLocal8Bit(argv[2]));
  return attnscope::gui::shoot_all(argv[1], QString::fromLocal8Bit(argv[2]), size);
}
