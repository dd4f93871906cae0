// SPDX-License-Identifier: Apache-2.0
//
// The heats of a live run: read from the store, as a model, and as squares.
#include <QAbstractItemModelTester>
#include <QAction>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>

#include "app/gui/session/snapshot.h"
#include "app/gui/views/progress_strip.h"
#include "engine/sweep/pause.h"
#include "engine/sweep/run_plan.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {
namespace {

HeatsPointer with_states(const std::vector<HeatState>& states) {
  auto heats = std::make_shared<HeatsSnapshot>();
  heats->uuid = u"a"_s;
  for (const HeatState state : states)
    heats->heats.push_back({.state = state, .point = u"64 tokens"_s});
  return heats;
}

/// Lengths 64, 128, 256, as the driver keeps them: in the provenance.
std::vector<Heat> three_heats() {
  std::vector<Heat> heats;
  for (const std::int64_t tokens : {64, 128, 256}) {
    Heat heat;
    heat.index = static_cast<int>(heats.size());
    heat.point.sequence_tokens = tokens;
    heat.point.threads = 2;
    heat.contenders = three_contenders();
    heats.push_back(heat);
  }
  return heats;
}

}  // namespace

class HeatsTest : public StoreSuite {
  Q_OBJECT

  RunId run_;  // planned with three heats

  void add_heat(std::int64_t tokens, CellStatus last = CellStatus::ok) {
    HeatResult heat = made_up_heat(0, tokens, three_contenders());
    heat.cells.back().status = last;
    if (last != CellStatus::ok) heat.cells.back().samples.clear();
    QVERIFY(store_->add_heat(run_, heat).has_value());
  }
  void set_current(const std::string& current) {
    QVERIFY(store_->set_progress(run_, {1, 3, current, {}}).has_value());
  }
  [[nodiscard]] RunEntry entry() const {
    RunEntry live{*store_->find_run(run_.uuid), std::nullopt};
    if (const auto progress = store_->progress(run_)) live.progress = *progress;
    return live;
  }

 private Q_SLOTS:

  void init() {
    open();
    NewRun start = new_run("live", 3);
    start.provenance = nlohmann::json{{"plan", plan_json(three_heats())}}.dump();
    run_ = store_->begin_run(start).value();
  }

  void ListsTheHeatsOfThePlanAndMarksTheMeasuredOne() {
    HeatsPointer heats = read_heats(*store_, entry(), nullptr);
    QVERIFY(heats);
    QCOMPARE(heats->heats.size(), std::size_t{3});
    QCOMPARE(heats->heats[2].point, u"256 tokens"_s);
    for (const HeatEntry& heat : heats->heats) QCOMPARE(heat.state, HeatState::waiting);
    add_heat(64);
    set_current("128 tokens, sparse/segment/4");
    heats = read_heats(*store_, entry(), nullptr);
    QCOMPARE(heats->heats[0].state, HeatState::done);
    QCOMPARE(heats->heats[0].outcome, u"3 ok"_s);
    QCOMPARE(heats->heats[1].state, HeatState::running);
    QCOMPARE(heats->heats[2].state, HeatState::waiting);
  }

  void MarksAHeatOnlyWhileItIsMeasured() {
    HeatsPointer heats;
    const std::pair<std::string, HeatState> expected[] = {
        {"ceilings of this machine", HeatState::waiting},
        {std::string(paused_words), HeatState::paused},
        {"waiting for run 'other' (process 7, since 14:02) to finish", HeatState::waiting},
        {"64 tokens", HeatState::running}};
    for (const auto& [current, state] : expected) {
      set_current(current);
      heats = read_heats(*store_, entry(), heats);
      QVERIFY2(heats->heats[0].state == state, current.c_str());
    }
  }

  void GivesAHeatTheWorstStateOfItsCells() {
    add_heat(64, CellStatus::oom);
    add_heat(128, CellStatus::wrong);
    add_heat(256, CellStatus::unsupported);
    const HeatsPointer heats = read_heats(*store_, entry(), nullptr);
    QCOMPARE(heats->heats[0].state, HeatState::too_large);
    QCOMPARE(heats->heats[0].outcome, u"2 ok, 1 oom"_s);
    QCOMPARE(heats->heats[1].state, HeatState::wrong);
    QCOMPARE(heats->heats[2].state, HeatState::done);
  }

  void CountsHeatsWithoutAPlanAndReusesAnUnchangedSnapshot() {
    run_ = store_->begin_run(new_run("live", 3)).value();
    add_heat(64);
    const HeatsPointer heats = read_heats(*store_, entry(), nullptr);
    QCOMPARE(read_heats(*store_, entry(), heats), heats);
    QCOMPARE(heats->heats.size(), std::size_t{3});
    QCOMPARE(heats->heats[0].state, HeatState::done);
    QCOMPARE(heats->heats[1].state, HeatState::waiting);
    add_heat(128);
    QVERIFY(read_heats(*store_, entry(), heats) != heats);
  }

  void ChangesSingleRows() {
    HeatsModel model;
    const QAbstractItemModelTester tester(&model);
    model.set_heats(with_states({HeatState::running, HeatState::waiting}));
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
    model.set_heats(with_states({HeatState::done, HeatState::waiting}));
    QCOMPARE(changed.count(), 1);
    QCOMPARE(reset.count(), 0);
    QCOMPARE(model.count(HeatState::done), 1);
    QCOMPARE(model.index(0).data(Qt::AccessibleTextRole).toString(),
             u"Heat 1 of 2, 64 tokens: measured"_s);
    model.set_heats(nullptr);
    QCOMPARE(model.rowCount(), 0);
    QCOMPARE(reset.count(), 1);
  }

  void DrawsStatesWithoutColour() {
    std::vector<QImage> drawn;
    for (int state = 0; state < heat_states; ++state) {
      QImage image(24, 24, QImage::Format_RGB32);
      image.fill(Qt::white);
      QPainter painter(&image);
      paint_heat_mark(painter, image.rect().adjusted(2, 2, -2, -2), static_cast<HeatState>(state),
                      QApplication::palette());
      painter.end();
      const QImage ink = image.convertToFormat(QImage::Format_Mono, Qt::ThresholdDither);
      for (const QImage& other : drawn) QVERIFY2(ink != other, qPrintable(QString::number(state)));
      drawn.push_back(ink);
    }
  }

  void MovesThroughHeatsByKeys() {
    HeatsModel model;
    HeatsView view(&model);
    view.resize(400, 60);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    model.set_heats(with_states(std::vector(200, HeatState::waiting)));
    const int wide = view.height();
    view.resize(200, 60);
    QTRY_VERIFY(view.height() >= wide);
    QSignalSpy chosen(&view, &HeatsView::chosen);
    view.clearFocus();
    view.activateWindow();
    view.setFocus();
    QTRY_COMPARE(view.currentIndex().row(), 0);
    QTest::keyClick(&view, Qt::Key_Right);
    QCOMPARE(view.currentIndex().row(), 1);
    QTest::keyClick(&view, Qt::Key_Down);
    QVERIFY(view.currentIndex().row() > 2);
    QTest::keyClick(&view, Qt::Key_End);
    QCOMPARE(view.currentIndex().row(), 199);
    QVERIFY(chosen.last().front().toString().startsWith(u"Heat 200 of 200"_s));
  }

  void CountsStatesInTheLegend() {
    HeatsModel model;
    const HeatsLegend legend(&model);
    model.set_heats(with_states({HeatState::done, HeatState::crashed, HeatState::waiting}));
    QCOMPARE(legend.text(), u"1 waiting, 1 measured, 1 crashed"_s);
    QCOMPARE(legend.accessibleName(), legend.text());
  }

  void ShowsOnlyTheHeatsOfItsRun() {
    ProgressStrip strip;
    const RunEntry live = entry();
    strip.show_run(&live);
    strip.show_heats(with_states({HeatState::done}));
    QCOMPARE(strip.heats().rowCount(), 0);
    strip.show_heats(read_heats(*store_, live, nullptr));
    QCOMPARE(strip.heats().rowCount(), 3);
    QVERIFY(strip.heats_action()->isEnabled());
    strip.show_run(nullptr);
    QCOMPARE(strip.heats().rowCount(), 0);
    QVERIFY(!strip.heats_action()->isEnabled());
  }

  void NeverMovesTheBarBackNorShowsANegativeTime() {
    ProgressStrip strip;
    const auto* bar = strip.findChild<QProgressBar*>();
    const auto start = std::chrono::steady_clock::now();
    RunEntry live = entry();
    const auto share_at = [&](int seconds, std::optional<double> left) {
      live.progress = Progress{0, 1, "64 tokens", left};
      strip.show_run(&live, start + std::chrono::seconds(seconds));
      return bar->value();
    };
    QCOMPARE(share_at(0, 90), 0);
    QCOMPARE(share_at(10, 90), 100);
    QCOMPARE(share_at(20, 180), 100);
    QCOMPARE(share_at(20, std::nullopt), 100);  // it waits
    QCOMPARE(share_at(500, 20), 500);
    QCOMPARE(share_at(540, 0), 1000);
    for (const auto& [seconds, words] :
         {std::pair(90.0, "about 2 min left"), {0.0, "longer than"}}) {
      live.progress = Progress{1, 3, "64 tokens", seconds};
      strip.show_run(&live);
      QVERIFY2(strip.text().contains(QLatin1String(words)), qPrintable(strip.text()));
    }
  }

  void FollowsPausesOfTheRun() {
    ProgressStrip strip;
    set_current("64 tokens");
    RunEntry live = entry();
    strip.show_run(&live);
    QSignalSpy paused(&strip, &ProgressStrip::pause_requested);
    QSignalSpy continued(&strip, &ProgressStrip::continue_requested);
    strip.pause_action()->trigger();
    QCOMPARE(paused.count(), 1);
    QVERIFY(strip.text().contains(u"then a pause"_s));
    live.progress->current = std::string(paused_words);
    strip.show_run(&live);
    QCOMPARE(strip.pause_button()->text(), u"Continue run"_s);
    strip.pause_action()->trigger();
    QCOMPARE(continued.count(), 1);
    QCOMPARE(strip.pause_button()->text(), u"Pause run"_s);
    live.progress->current = "128 tokens";
    strip.show_run(&live);
    QCOMPARE(strip.pause_button()->text(), u"Pause run"_s);
  }
};

ATTNSCOPE_GUI_TEST(HeatsTest)

}  // namespace attnscope::gui
#include "heats_test.moc"
