// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/shoot_run_list.h"

#include <QCheckBox>
#include <QLineEdit>
#include <QListView>
#include <QtTest>

#include "app/gui/views/compare_page.h"
#include "app/gui/views/published_view.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {
namespace {

QString key_of(const RunListPanel& panel, int row) {
  return panel.list()->model()->index(row, 0).data(RunListModel::uuid_role).toString();
}

void wait_for_run(MainWindow& window, const QString& uuid) {
  static_cast<void>(QTest::qWaitFor(
      [&] {
        const RunPointer& run = window.compare()->run_view()->run();
        return run && run->request.uuid == uuid && !run->table.rows.empty();
      },
      patience_ms));
}

/// The first is named and tagged, the second tagged, the last put away.
bool prepare(MainWindow& window, RunListPanel& panel) {
  const int rows = panel.list()->model()->rowCount();
  if (rows < 3 || panel.trash().rowCount() > 0) return rows >= 2;
  const auto id_of = [&panel](int row) { return RunId{key_of(panel, row).toStdString()}; };
  Store store = open_store(window.runs().entry(key_of(panel, 0))->info.file);
  const bool described =
      store.describe_run(id_of(0), {.name = "Laptop, lid open",
                                    .tag = "camera-ready laptop",
                                    .note = "Plugged in, nothing else running."}) &&
      store.describe_run(id_of(1), {.tag = "draft"}) && store.put_in_trash({id_of(rows - 1)});
  if (!described) return false;
  return QTest::qWaitFor(
      [&] { return panel.trash().rowCount() == 1 && window.runs().tags().size() == 3; },
      patience_ms);
}

}  // namespace

bool shoot_run_list(MainWindow& window, const Save& save) {
  window.show_page(MainWindow::compare_page);
  ComparePage* page = window.compare();
  RunListPanel& panel = *page->run_list();
  if (!prepare(window, panel)) return true;  // too few runs to show anything with
  panel.show_section(RunListPanel::runs_section);
  const QString first = key_of(panel, 0);
  panel.choose(first);
  wait_for_run(window, first);
  bool saved = save(window, QStringLiteral("runs-named"));
  panel.list()->edit(panel.list()->currentIndex());
  saved = save(window, QStringLiteral("runs-renaming")) && saved;
  if (auto* editor = panel.list()->findChild<QLineEdit*>()) QTest::keyClick(editor, Qt::Key_Escape);
  panel.show_section(RunListPanel::published_section);
  for (const char* table : {"ecir24-table1", "ecir24-table3"}) {
    panel.choose(QLatin1String(table));
    saved = save(window, QStringLiteral("published-") + QLatin1String(table)) && saved;
  }
  const QString shipped = panel.published().first_run();
  panel.list(RunListPanel::published_section)
      ->setCurrentIndex(panel.list(RunListPanel::published_section)->model()->index(4, 0));
  wait_for_run(window, shipped);
  saved = save(window, QStringLiteral("published-run")) && saved;
  page->set_beside(true);
  panel.choose(first);
  wait_for_run(window, first);
  saved = save(window, QStringLiteral("runs-beside")) && saved;
  page->set_beside(false);
  panel.show_section(RunListPanel::trash_section);
  wait_for_run(window, panel.chosen());
  saved = save(window, QStringLiteral("runs-trash")) && saved;
  panel.show_section(RunListPanel::runs_section);
  return saved;
}

}  // namespace attnscope::gui
