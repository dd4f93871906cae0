// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/pattern_screenshots.h"

#include <QLabel>
#include <QtTest>

#include "app/gui/charts/map_view.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/patterns_page.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

/// Masks in their finest picture, implementations answered.
void settle(PatternsPage& page) {
  const auto is_settled = [&page] {
    (void)page.grab();
    const auto* difference = page.findChild<charts::MaskView*>(u"difference_mask"_s);
    const bool drawn =
        page.mask()->is_settled() && (!page.masks()->is_split() || difference->is_settled());
    const auto* note = page.findChild<QLabel*>(u"new_run_note"_s);
    return drawn && !note->text().startsWith(u"Asking"_s);
  };
  if (!QTest::qWaitFor(is_settled, timeout_ms)) qWarning("page Patterns did not settle");
}

}  // namespace

bool shoot_patterns(PatternsPage& page, const std::function<bool(const QString&)>& save) {
  const auto shoot = [&](const char* name) {
    settle(page);
    return save(QLatin1String(name));
  };
  page.choose(u"sparse"_s);
  page.masks()->set_style(charts::MaskStyle::schematic);
  page.mask()->pin(17, 19);
  bool saved = shoot("patterns");
  page.masks()->set_style(charts::MaskStyle::true_scale);
  saved = shoot("patterns-true") && saved;

  page.masks()->set_style(charts::MaskStyle::schematic);
  const Status edited = page.editor().set_rule(TokenGroup::sentence, TokenGroup::query,
                                               {.kind = GroupRule::Kind::whole});
  page.masks()->compare_with(u"Longformer"_s);
  page.mask()->pin(13, 16);
  saved = edited.has_value() && shoot("patterns-split") && saved;
  auto* scroll = page.findChild<SideArea*>();  // the panel's
  if (scroll) scroll->ensureVisible(0, scroll->widget()->height());
  page.masks()->set_style(charts::MaskStyle::true_scale);
  saved = shoot("patterns-split-true") && saved;
  page.masks()->compare_with({});
  if (scroll) scroll->ensureVisible(0, 0);

  page.choose(u"bigbird"_s);
  page.editor().set_documents({4084});
  saved = shoot("patterns-blocks") && saved;
  page.choose(u"chunks"_s);
  page.editor().set_documents({244});
  saved = shoot("patterns-chunks-true") && saved;
  page.editor().set_documents({1'000'000});
  (void)page.open_file(u"/nowhere/mine.json"_s);
  saved = shoot("patterns-errors") && saved;
  page.findChild<ProblemLabel*>(u"open_problem"_s)->set_problem({});
  while (page.editor().undo_stack().canUndo()) page.editor().undo_stack().undo();
  page.mask()->pin(-1, -1);
  return saved;
}

}  // namespace attnscope::gui
