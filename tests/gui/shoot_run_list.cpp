// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/shoot_run_list.h"

#include <QFileDialog>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QTemporaryDir>
#include <QToolButton>
#include <QtTest>

#include "app/gui/views/answer_panel.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/comparison_view.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {
namespace {

QString key_of(const RunListPanel& panel, int row) {
  return panel.list()->model()->index(row, 0).data(RunListModel::uuid_role).toString();
}

QModelIndex runs_index(const RunListPanel& panel, const QString& uuid) {
  const QAbstractItemModel& model = *panel.list()->model();
  return model.match(model.index(0, 0), RunListModel::uuid_role, uuid).value(0);
}

void wait_for_run(MainWindow& window, const QString& uuid) {
  static_cast<void>(QTest::qWaitFor(
      [&] {
        const RunPointer& run = window.compare()->run_view()->run();
        return run && run->request.uuid == uuid && !run->table.rows.empty();
      },
      timeout_ms));
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
      timeout_ms);
}

/// The two newest runs of the same sweep, compared.
bool shoot_comparison(MainWindow& window, RunListPanel& panel, const Save& save) {
  const RunListModel& runs = window.runs();
  QStringList two;
  for (int row = 0; row < runs.rowCount() && two.size() < 2; ++row) {
    const RunEntry* one = runs.entry(key_of(panel, row));
    two = {key_of(panel, row)};
    for (int other = row + 1; other < runs.rowCount() && two.size() < 2; ++other) {
      if (runs.entry(key_of(panel, other))->info.start.sweep_name == one->info.start.sweep_name)
        two.append(key_of(panel, other));
    }
  }
  if (two.size() < 2) return true;
  panel.choose(two[0]);
  wait_for_run(window, two[0]);
  panel.list()->selectionModel()->select(runs_index(panel, two[1]), QItemSelectionModel::Select);
  panel.findChild<QPushButton*>(u"compare_the_two"_s)->click();
  const auto is_shown = [&] { return window.compare()->comparison_view()->isVisible(); };
  bool saved = QTest::qWaitFor(is_shown, timeout_ms);
  saved = save(window, u"comparison"_s) && saved;
  window.compare()->comparison_view()->findChild<QToolButton*>(u"comparison_back"_s)->click();
  return saved;
}

/// What asks for the checkpoint of a file of pairs that is dropped on the answer.
bool shoot_lengths(MainWindow& window, const Save& save) {
  const QTemporaryDir folder;
  QFile pairs(folder.filePath(u"pairs.tsv"_s));
  if (!pairs.open(QIODevice::WriteOnly)) return false;
  pairs.write("how tall is the tower\tThe tower is 330 metres tall.\n");
  pairs.close();
  window.compare()->answer()->take_lengths(pairs.fileName());
  const auto requested = [&] { return window.findChild<QFileDialog*>() != nullptr; };
  bool saved = QTest::qWaitFor(requested, timeout_ms);
  auto* dialog = window.findChild<QFileDialog*>();
  saved = dialog && save(*dialog, u"answer-checkpoint"_s) && saved;
  if (dialog) dialog->reject();
  return saved;
}

}  // namespace

bool shoot_run_list(MainWindow& window, const Save& save) {
  window.show_page(MainWindow::compare_page);
  ComparePage* page = window.compare();
  RunListPanel& panel = *page->run_list();
  if (!prepare(window, panel)) return true;  // too few runs to show anything with
  panel.show_section(RunListPanel::runs_section);
  const bool compared = shoot_comparison(window, panel, save) && shoot_lengths(window, save);
  const QString first = key_of(panel, 0);
  panel.choose(first);
  wait_for_run(window, first);
  bool saved = save(window, u"runs-named"_s) && compared;
  panel.list()->edit(panel.list()->currentIndex());
  saved = save(window, u"runs-renaming"_s) && saved;
  if (auto* editor = panel.list()->findChild<QLineEdit*>()) QTest::keyClick(editor, Qt::Key_Escape);
  panel.show_section(RunListPanel::published_section);
  for (const char* table : {"ecir24-table1", "ecir24-table3"}) {
    panel.choose(QLatin1String(table));
    saved = save(window, u"published-"_s + QLatin1String(table)) && saved;
  }
  const QString shipped = panel.published().first_run();
  panel.list(RunListPanel::published_section)
      ->setCurrentIndex(panel.list(RunListPanel::published_section)->model()->index(4, 0));
  wait_for_run(window, shipped);
  saved = save(window, u"published-run"_s) && saved;
  panel.choose(first);
  wait_for_run(window, first);
  page->run_view()->show_tab(u"published"_s);
  saved = save(window, u"runs-beside"_s) && saved;
  page->run_view()->show_tab(u"table"_s);
  panel.show_section(RunListPanel::trash_section);
  wait_for_run(window, panel.chosen());
  saved = save(window, u"runs-trash"_s) && saved;
  panel.show_section(RunListPanel::runs_section);
  return saved;
}

}  // namespace attnscope::gui
