// SPDX-License-Identifier: Apache-2.0
//
// One measurement at a time: runs wait for each other, also if they have different databases, but
// not for one that was killed.
#include <algorithm>
#include <csignal>

#include "engine/sweep/pause.h"
#include "tests/faults/live_program.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class TurnsTest : public ProgramFixture {
 protected:
  TurnsTest() { hold_on(); }

  /// A run in a database of its own.
  [[nodiscard]] std::vector<std::string> run_in(const std::string& database,
                                                const std::string& contenders,
                                                const std::string& lengths) const {
    std::vector<std::string> arguments = run_of(contenders, lengths);
    const auto sweep = folder_ / (database + ".json");
    std::filesystem::rename(arguments[1], sweep);
    arguments[1] = sweep.string();
    *(std::ranges::find(arguments, "--db") + 1) = (folder_ / database).string();
    return arguments;
  }
  [[nodiscard]] std::vector<std::string> held_run() const {
    return run_in("first.db", R"("full/held")", "64");
  }
  [[nodiscard]] std::vector<std::string> second_run() const {
    return run_in("second.db", R"("full/dense")", "128");
  }
  [[nodiscard]] std::string errors_of(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string stated(const std::string& name) const {
    return text_of(errors_of(name));
  }
  [[nodiscard]] RunInfo last_in(const std::string& database) const {
    return *Store::open(folder_ / database, Store::Mode::read_only)->find_run("last");
  }
  [[nodiscard]] std::vector<std::string> disturbances_in(const std::string& database) const {
    const auto store = Store::open(folder_ / database, Store::Mode::read_only);
    std::vector<std::string> found;
    const auto cells = store->cells(store->find_run("last")->id, true);
    for (const StoredCell& cell : *cells) {
      EXPECT_FALSE(cell.damaged);
      found.push_back(cell.cell.disturbed_by);
    }
    return found;
  }
  static std::string last_text(const LiveProgram& program) {
    return program.seen().back().at("text");
  }
  static void expect_done(LiveProgram& program) {
    EXPECT_EQ(program.read_to_the_end(), 0);
    EXPECT_EQ(last_text(program), "done");
  }
};

TEST_F(TurnsTest, SecondRun_WaitsForTheFirstAndNamesIt) {
  LiveProgram first(held_run(), errors_of("first"), "contender");
  LiveProgram second(second_run(), errors_of("second"), "waiting");
  const std::string whom = fmt::format("run 'faults' (process {} ", first.pid());
  EXPECT_THAT(last_text(second),
              AllOf(HasSubstr("waiting for " + whom), HasSubstr("since "), HasSubstr("to finish")));
  EXPECT_THAT(stated("second"), AllOf(HasSubstr(whom), HasSubstr("--now")));
  const auto store = Store::open(folder_ / "second.db", Store::Mode::read_only);
  const auto progress = store->progress(store->find_run("last")->id);
  ASSERT_TRUE(progress && *progress);
  EXPECT_THAT((*progress)->current, HasSubstr(whom));
  EXPECT_FALSE((*progress)->seconds_left);
  EXPECT_THAT(requests(), Not(Contains("heat 128")));
  let_go();
  expect_done(first);
  expect_done(second);
  EXPECT_THAT(disturbances_in("first.db"), Each(IsEmpty()));
  EXPECT_THAT(disturbances_in("second.db"), Each(IsEmpty()));
}

TEST_F(TurnsTest, KilledHolderOfARun_IsReplacedAfterTheHeat) {
  LiveProgram first(run_in("first.db", R"("full/held")", "64, 256"), errors_of("first"),
                    "contender");
  for (const pid_t holder : turn_holders()) ::kill(holder, SIGKILL);
  for (const pid_t holder : turn_holders()) EXPECT_TRUE(is_gone(holder));
  LiveProgram second(second_run(), errors_of("second"));
  expect_done(second);
  let_go();
  expect_done(first);
  EXPECT_THAT(turn_holders(), SizeIs(6)) << "three holders and their watching processes";
}

TEST_F(TurnsTest, ACrash_KeepsTheTurn) {
  LiveProgram first(run_in("first.db", R"("full/crash", "full/held")", "64"), errors_of("first"));
  const auto is_held = [&] {
    return !first.seen().empty() && last_text(first) == "full/held: time";
  };
  while (!is_held() && first.next()) {
  }
  LiveProgram second(second_run(), errors_of("second"), "waiting");
  EXPECT_THAT(requests(), Not(Contains("heat 128")));
  let_go();
  EXPECT_EQ(first.read_to_the_end(), 1);
  expect_done(second);
}

TEST_F(TurnsTest, AfterAKilledDriver_WaitingRunsMeasureInTheOrderOfTheirArrival) {
  LiveProgram first(held_run(), errors_of("first"), "contender");
  LiveProgram second(run_in("second.db", R"("full/held")", "128"), errors_of("second"), "waiting");
  LiveProgram third(run_in("third.db", R"("full/dense")", "256"), errors_of("third"), "waiting");
  first.send(SIGKILL);
  ASSERT_TRUE(second.read_until("contender"));
  const std::string whom = fmt::format("process {} ", second.pid());
  while (last_text(third).find(whom) == std::string::npos) ASSERT_TRUE(third.read_until("waiting"));
  EXPECT_THAT(requests(), Not(Contains("heat 256")));
  let_go();
  expect_done(second);
  expect_done(third);
}

TEST_F(TurnsTest, InterruptWhileItWaits_CancelsTheRunAndNothingElse) {
  LiveProgram first(held_run(), errors_of("first"), "contender");
  LiveProgram second(second_run(), errors_of("second"), "waiting");
  second.send(SIGINT);
  EXPECT_EQ(second.read_to_the_end(), 130);
  EXPECT_EQ(last_in("second.db").status, RunStatus::cancelled);
  EXPECT_EQ(last_in("second.db").heats_done, 0);
  EXPECT_THAT(stated("second"), HasSubstr("measures the rest"));
  let_go();
  expect_done(first);
}

TEST_F(TurnsTest, APausedRun_LetsOthersMeasureAndThenWaits) {
  LiveProgram first(run_in("first.db", R"("full/held")", "64, 256"), errors_of("first"),
                    "contender");
  LiveProgram second(second_run(), errors_of("second"), "waiting");
  const auto ask = [&](PauseRequest request) {
    sigval value{};
    value.sival_int = static_cast<int>(request);
    ASSERT_EQ(sigqueue(first.pid(), pause_signal(), value), 0);
  };
  ask(PauseRequest::pause);
  let_go();
  ASSERT_TRUE(first.read_until("paused"));
  expect_done(second);
  ask(PauseRequest::resume);
  ASSERT_TRUE(first.read_until("continued"));
  expect_done(first);
  EXPECT_THAT(disturbances_in("first.db"), Each(IsEmpty()));
}

TEST_F(TurnsTest, Now_MeasuresAtTheSameTimeAndMarksBoth) {
  LiveProgram first(run_in("first.db", R"("full/held")", "64, 256"), errors_of("first"),
                    "contender");
  std::vector<std::string> at_once = second_run();
  at_once.emplace_back("--now");
  LiveProgram second(at_once, errors_of("second"));
  expect_done(second);
  EXPECT_THAT(second.kinds(), Not(Contains("waiting")));
  let_go();
  expect_done(first);
  const auto named = [](const LiveProgram& run) {
    return HasSubstr(fmt::format("run 'faults' (process {} ", run.pid()));
  };
  EXPECT_THAT(disturbances_in("second.db"), ElementsAre(named(first)));
  EXPECT_THAT(disturbances_in("first.db"), ElementsAre(named(second), IsEmpty()));
  EXPECT_THAT(stated("first"), HasSubstr("another measurement ran while 64 tokens were measured"));
}

TEST_F(TurnsTest, WithoutALock_TheRunMeasuresWithAWarning) {
  let_go();
  const auto target = folder_ / "target";
  std::ofstream(target) << "mine";
  std::filesystem::create_symlink(target, folder_ / "attnscope-cpu.lock");
  LiveProgram run(second_run(), errors_of("run"));
  expect_done(run);
  EXPECT_THAT(stated("run"), AllOf(HasSubstr("cannot coordinate with other measurements"),
                                   HasSubstr("attnscope-cpu.lock is a symbolic link")));
  EXPECT_EQ(text_of(target), "mine");
}

}  // namespace
}  // namespace attnscope
