// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/shoot_live_run.h"

#include "app/gui/views/compare_page.h"
#include "app/gui/views/progress_strip.h"

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

}  // namespace attnscope::gui
