// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/shoot_new_run.h"

#include <QLineEdit>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QToolButton>
#include <QtTest>

#include "app/gui/views/new_run_drawer.h"
#include "app/gui/views/sweep_file_edit.h"
#include "app/gui/views/sweep_form.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

/// Until nothing slides, is checked or is foreseen any more.
bool settle(const NewRunDrawer& drawer) {
  QTest::qWait(300);
  return QTest::qWaitFor([&] { return drawer.is_checked(); }, patience_ms);
}

}  // namespace

bool shoot_new_run(MainWindow& window, const SaveWindow& save) {
  window.open_new_run();
  auto* drawer = window.findChild<NewRunDrawer*>();
  if (drawer == nullptr) return false;
  drawer->choose_preset(QStringLiteral("quick"));
  static_cast<void>(QTest::qWaitFor([&] { return drawer->is_listed(); }, patience_ms));
  auto* more = drawer->findChild<QToolButton*>(QStringLiteral("more_contenders"));
  const auto is_foreseen = [more] {
    return QTest::qWaitFor([more] { return more->isVisible(); }, patience_ms);
  };
  static_cast<void>(is_foreseen());
  more->setChecked(true);
  bool saved = settle(*drawer) && save(QStringLiteral("new-run"));
  more->setChecked(false);

  auto* lengths = drawer->findChild<QLineEdit*>(QStringLiteral("lengths"));
  lengths->clear();
  QTest::keyClicks(lengths, QStringLiteral("64:4"));
  auto* heads = drawer->findChild<QLineEdit*>(QStringLiteral("heads"));
  drawer->form()->show_advanced(true);
  static_cast<void>(settle(*drawer));
  for (auto* scroll : drawer->findChildren<QScrollArea*>()) scroll->ensureWidgetVisible(heads);
  saved = save(QStringLiteral("new-run-advanced")) && saved;
  drawer->form()->show_advanced(false);

  drawer->choose_preset(QStringLiteral("models-cpu"));
  static_cast<void>(is_foreseen());
  saved = settle(*drawer) && save(QStringLiteral("new-run-models")) && saved;

  drawer->choose_preset(QStringLiteral("quick"));
  saved = settle(*drawer) && saved;
  drawer->show_file(true);
  saved = save(QStringLiteral("new-run-file")) && saved;
  auto* text = drawer->findChild<QPlainTextEdit*>(QStringLiteral("sweep_text"));
  text->setPlainText(
      text->toPlainText().replace(QStringLiteral("\"heads\""), QStringLiteral("\"haeds\"")));
  drawer->findChild<SweepFileEdit*>()->flush();
  saved = settle(*drawer) && save(QStringLiteral("new-run-file-wrong")) && saved;
  drawer->show_file(false);
  drawer->choose_preset(QStringLiteral("quick"));
  drawer->shut();
  return saved;
}

}  // namespace attnscope::gui
