// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/answer_screenshots.h"

#include <QLabel>
#include <QLineEdit>
#include <QtTest>

#include "app/gui/views/answer_fields.h"
#include "app/gui/views/answer_panel.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
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
