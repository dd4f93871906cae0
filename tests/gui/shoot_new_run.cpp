// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/shoot_new_run.h"

#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>
#include <QtTest>

#include "app/gui/views/new_run_dialog.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

/// Until nothing is checked or is foreseen any more.
bool settle(const NewRunDialog& dialog) {
  QTest::qWait(300);
  return QTest::qWaitFor([&] { return dialog.is_checked(); }, patience_ms);
}

}  // namespace

bool shoot_new_run(MainWindow& window, const Save& save) {
  window.open_new_run();
  auto* dialog = window.findChild<NewRunDialog*>();
  if (dialog == nullptr) return false;
  dialog->choose_preset(QStringLiteral("quick"));
  auto* more = dialog->findChild<QToolButton*>(QStringLiteral("more_contenders"));
  const auto is_estimated = [more] {
    return QTest::qWaitFor([more] { return more->isVisible(); }, patience_ms);
  };
  static_cast<void>(is_estimated());
  more->setChecked(true);
  bool saved = settle(*dialog) && save(*dialog, QStringLiteral("new-run"));
  more->setChecked(false);

  auto* lengths = dialog->findChild<QLineEdit*>(QStringLiteral("sequence_tokens"));
  lengths->clear();
  QTest::keyClicks(lengths, QStringLiteral("64:4"));
  auto* heads = dialog->findChild<QLineEdit*>(QStringLiteral("heads"));
  dialog->show_advanced(true);
  static_cast<void>(settle(*dialog));
  for (auto* scroll : dialog->findChildren<QScrollArea*>()) scroll->ensureWidgetVisible(heads);
  saved = save(*dialog, QStringLiteral("new-run-advanced")) && saved;
  dialog->show_advanced(false);

  dialog->choose_preset(QStringLiteral("models-cpu"));
  static_cast<void>(is_estimated());
  saved = settle(*dialog) && save(*dialog, QStringLiteral("new-run-models")) && saved;

  dialog->choose_preset(QStringLiteral("quick"));
  saved = settle(*dialog) && saved;
  dialog->findChild<QPushButton*>(QStringLiteral("edit_file"))->click();
  QFile file(dialog->findChild<SweepFile*>()->path());
  if (!file.open(QIODevice::WriteOnly)) return false;
  file.write("{\"name\": \"typed\",\n\"haeds\": 2}");
  file.close();
  auto* start = dialog->findChild<QPushButton*>(QStringLiteral("start_run"));
  static_cast<void>(QTest::qWaitFor([&] { return !start->isEnabled(); }, patience_ms));
  saved = save(*dialog, QStringLiteral("new-run-file-wrong")) && saved;
  dialog->choose_preset(QStringLiteral("quick"));
  dialog->close();
  return saved;
}

}  // namespace attnscope::gui
