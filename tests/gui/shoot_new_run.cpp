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

}  // namespace attnscope::gui
