// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QScrollArea>
#include <QTemporaryDir>
#include <QToolButton>
#include <QtTest>

#include "app/gui/views/answer_fields.h"
#include "app/gui/views/answer_panel.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/comparison_view.h"
#include "app/gui/views/new_run_dialog.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"
#include "tests/gui/screenshots.h"

namespace attnscope::gui {
namespace {

HeatsPointer made_up_heats(const QString& uuid) {
  auto heats = std::make_shared<HeatsSnapshot>();
  heats->uuid = uuid;
  constexpr int all = 84, done = 37;
  for (int i = 0; i < all; ++i) {
    const int tokens = 64 << (i % 7);
    HeatEntry heat{.point = u"%1 tokens, %2 heads"_s.arg(tokens).arg(8 + i / 7)};
    if (i < done) {
      heat.state = HeatState::done;
      heat.outcome = u"4 ok"_s;
      if (i % 7 == 6) heat.state = HeatState::too_large;
      if (i == 11) heat.state = HeatState::wrong;
      if (i == 19) heat.state = HeatState::crashed;
      if (i == 25) heat.state = HeatState::timeout;
      if (i == 30) heat.state = HeatState::skipped;
    }
    if (i == done) heat.state = HeatState::running;
    heats->heats.push_back(heat);
  }
  return heats;
}

}  // namespace

bool shoot_live_run(MainWindow& window, const SaveWindow& save) {
  RunEntry live;
  live.info.id.uuid = "made-up";
  live.info.start.sweep_name = "kernels-cpu";
  live.info.start.heats_planned = 84;
  live.progress = Progress{37, 84, "2048 tokens, sparse/segment/64", 1520};
  ProgressStrip* strip = window.compare()->progress();
  strip->show_run(&live);
  strip->show_heats(made_up_heats(u"made-up"_s));
  strip->heats_view()->setCurrentIndex(strip->heats_view()->model()->index(11, 0));
  const bool saved = save(u"live-run"_s);
  strip->show_run(nullptr);
  return saved;
}

namespace {

/// Waits until checks and forecasts are complete.
bool settle(const NewRunDialog& dialog) {
  QTest::qWait(300);
  return QTest::qWaitFor([&] { return dialog.is_checked(); }, timeout_ms);
}

}  // namespace

bool shoot_new_run(MainWindow& window, const Save& save) {
  window.open_new_run();
  auto* dialog = window.findChild<NewRunDialog*>();
  if (dialog == nullptr) return false;
  dialog->choose_preset(u"quick"_s);
  auto* more = dialog->findChild<QToolButton*>(u"more_contenders"_s);
  const auto is_estimated = [more] {
    return QTest::qWaitFor([more] { return more->isVisible(); }, timeout_ms);
  };
  static_cast<void>(is_estimated());
  more->setChecked(true);
  bool saved = settle(*dialog) && save(*dialog, u"new-run"_s);
  more->setChecked(false);

  auto* lengths = dialog->findChild<QLineEdit*>(u"sequence_tokens"_s);
  lengths->clear();
  QTest::keyClicks(lengths, u"64:4"_s);
  auto* heads = dialog->findChild<QLineEdit*>(u"heads"_s);
  dialog->show_advanced(true);
  static_cast<void>(settle(*dialog));
  for (auto* scroll : dialog->findChildren<QScrollArea*>()) scroll->ensureWidgetVisible(heads);
  saved = save(*dialog, u"new-run-advanced"_s) && saved;
  dialog->show_advanced(false);

  dialog->choose_preset(u"models-cpu"_s);
  static_cast<void>(is_estimated());
  saved = settle(*dialog) && save(*dialog, u"new-run-models"_s) && saved;

  dialog->choose_preset(u"quick"_s);
  saved = settle(*dialog) && saved;
  dialog->findChild<QPushButton*>(u"edit_file"_s)->click();
  QFile file(dialog->findChild<SweepFile*>()->path());
  if (!file.open(QIODevice::WriteOnly)) return false;
  file.write("{\"name\": \"typed\",\n\"haeds\": 2}");
  file.close();
  auto* start = dialog->findChild<QPushButton*>(u"start_run"_s);
  static_cast<void>(QTest::qWaitFor([&] { return !start->isEnabled(); }, timeout_ms));
  saved = save(*dialog, u"new-run-file-wrong"_s) && saved;
  dialog->choose_preset(u"quick"_s);
  dialog->close();
  return saved;
}

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

/// Names and tags the first, tags the second, moves the last to the trash.
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
    const RunEntry* newer = runs.entry(key_of(panel, row));
    two = {key_of(panel, row)};
    for (int other = row + 1; other < runs.rowCount() && two.size() < 2; ++other) {
      if (runs.entry(key_of(panel, other))->info.start.sweep_name == newer->info.start.sweep_name)
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

/// The dialog for the checkpoint of a file of pairs dropped on the answer.
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

namespace {

void fill(const AnswerPanel& panel, const char* field, const char* text) {
  auto* edit = panel.findChild<QLineEdit*>(QLatin1String(field));
  if (edit != nullptr) edit->setText(QLatin1String(text));
}

/// Whether the answer has come to documents of these lengths.
bool is_answered(const AnswerPanel& panel, const report::DocumentLengths& documents) {
  return QTest::qWaitFor(
      [&] { return panel.advice() && panel.advice()->question.documents == documents; },
      timeout_ms);
}

}  // namespace

bool shoot_answer(MainWindow& window, const std::function<bool(const QString& name)>& save) {
  AnswerPanel* panel = window.compare()->answer();
  const QString requested = panel->fields()->documents()->text();
  window.compare()->run_view()->show_tab(QLatin1String(RunView::answer_tab));
  fill(*panel, "document_tokens", "512");
  bool saved = is_answered(*panel, report::DocumentLengths(512));
  panel->list()->setCurrentIndex(panel->list()->model()->index(0, 0));
  saved = save(u"answer-open"_s) && saved;
  fill(*panel, "document_tokens", "20x120, 60x300, 15x700, 5x1500");
  fill(*panel, "memory_mb", "500");
  fill(*panel, "latency_ms", "150");
  std::vector<std::int64_t> lengths(20, 120);
  lengths.insert(lengths.end(), 60, 300);
  lengths.insert(lengths.end(), 15, 700);
  lengths.insert(lengths.end(), 5, 1500);
  saved = is_answered(*panel, report::DocumentLengths(lengths)) && saved;
  panel->list()->setCurrentIndex({});
  saved = save(u"answer-limits"_s) && saved;
  fill(*panel, "document_tokens", "12.5");
  saved = QTest::qWaitFor([&] { return panel->advice() == nullptr; }, timeout_ms) && saved;
  saved = save(u"answer-problem"_s) && saved;
  for (const char* limit : {"memory_mb", "latency_ms"}) fill(*panel, limit, "");
  panel->fields()->documents()->setText(requested);
  saved = QTest::qWaitFor([&] { return panel->advice() != nullptr; }, timeout_ms) && saved;
  return saved;
}

}  // namespace attnscope::gui
