// SPDX-License-Identifier: Apache-2.0
//
// The driver, its worker, or the window that started it is killed at random times, which are drawn
// from seeds: after a number of events, and microseconds after the last of them. Twenty rounds
// each; ATTNSCOPE_KILLS=200 runs two hundred.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>

#include "engine/worker/protocol.h"
#include "tests/faults/live_program.h"

namespace attnscope {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::Eq;
using Parent = LiveProgram::Parent;

constexpr int heats = 4, contenders = 2;
// started, ceilings, heats (start, phases, end), ceilings, finished
constexpr int events = 2 + heats * (2 + contenders) + 2;

int rounds() {
  const char* requested = std::getenv("ATTNSCOPE_KILLS");
  return requested != nullptr ? std::max(1, std::atoi(requested)) : 20;
}

/// A point in time of a run: a time after a number of events.
struct Moment {
  int after_events = 0;
  useconds_t microseconds = 0;
};

Moment draw(std::mt19937& random) {
  return {
      .after_events = std::uniform_int_distribution(0, events)(random),
      .microseconds = static_cast<useconds_t>(std::exponential_distribution(1.0 / 1500)(random))};
}

class KillTest : public ProgramFixture {
 protected:
  /// Calls `round` with a moment of its own and a new store; it must leave no process and no file.
  void for_each_round(unsigned seed, const std::function<void(std::mt19937&, Moment)>& round) {
    for (int i = 0; i < rounds() && !HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("round {}", i));
      for (const char* file : {"runs.db", "runs.db-journal", "log", "pids", "errors"})
        std::filesystem::remove(folder_ / file);
      std::mt19937 random(seed + static_cast<unsigned>(i));
      const Moment moment = draw(random);
      round(random, moment);
      expect_no_worker_left();
      expect_no_litter();
    }
  }

  [[nodiscard]] std::vector<std::string> whole_run() const {
    return run_of(R"("full/dense", "full/sdpa")", "64, 128, 256, 512");
  }

  void expect_no_worker_left() const {
    for (const pid_t pid : workers()) EXPECT_TRUE(is_gone(pid)) << pid;
    for (const pid_t pid : turn_holders()) EXPECT_TRUE(is_gone(pid)) << pid;
  }

  /// Only files of the test and of the store exist.
  void expect_no_litter() const {
    const std::set<std::string> known = {
        "runs.db", "runs.db-journal", "log",   "pids",
        "errors",  "sweep.json",      "turns", "attnscope-cpu.lock"};
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      EXPECT_TRUE(known.contains(entry.path().filename().string())) << entry.path();
  }

  /// Every heat announced as finished is stored, with the very samples that were announced.
  static void expect_stored(const std::vector<json>& announced, const Store& store,
                            const RunId& run) {
    const auto cells = stored_cells(store, run);
    for (const json& event : announced) {
      if (event.at("event") != "heat-finished") continue;
      const auto result = protocol::from_json<HeatResult>(event.at("result"), "result");
      ASSERT_TRUE(result) << result.error().message;
      for (const Cell& cell : result->cells) {
        const auto key = fmt::format("{} {}", result->point.sequence_tokens, cell.contender.id());
        ASSERT_TRUE(cells.contains(key)) << key;
        EXPECT_EQ(samples_of(cells.at(key)), samples_of(cell)) << key;
        EXPECT_EQ(cells.at(key).status, cell.status) << key;
      }
    }
  }

  static json samples_of(const Cell& cell) { return protocol::to_json(cell).at("samples"); }

  /// Done, each cell once and none missing.
  static void expect_whole(const Store& store) {
    ASSERT_EQ(store.runs()->size(), 1U);
    const RunInfo run = *store.find_run("last");
    EXPECT_EQ(run.status, RunStatus::done);
    EXPECT_EQ(run.heats_done, heats);
    EXPECT_EQ(store.cells(run.id, /*with_samples=*/false)->size(),
              static_cast<std::size_t>(heats * contenders));
    EXPECT_EQ(stored_cells(store, run.id).size(), static_cast<std::size_t>(heats * contenders));
  }

  [[nodiscard]] int heats_requested() {
    int count = 0;
    for (const std::string& line : requests()) count += line.starts_with("heat") ? 1 : 0;
    return count;
  }

  /// Measures only the heats that are not stored.
  void resume_to_the_end() {
    const RunInfo run = last();
    static_cast<void>(requests());
    LiveProgram rest({"run", "--resume", "last", "--db", database().string(), "--events",
                      "--worker", FAKE_WORKER_PROGRAM},
                     errors());
    EXPECT_EQ(rest.read_to_the_end(), 0);
    EXPECT_EQ(heats_requested(), heats - run.heats_done);
    expect_whole(open_store());
  }
};

TEST_F(KillTest, Driver_LosesNoAnnouncedHeatAndLeavesNoProcessAndResumes) {
  int interrupted = 0;
  for_each_round(0, [&](std::mt19937&, const Moment& moment) {
    LiveProgram program(whole_run(), errors());
    program.read(moment.after_events);
    usleep(moment.microseconds);
    program.send(SIGKILL);
    const bool killed = program.read_to_the_end() == -SIGKILL;
    expect_no_worker_left();
    if (!std::filesystem::exists(database()) || open_store().runs()->empty()) {
      EXPECT_TRUE(program.seen().empty());
      return;
    }
    const Store store = open_store();
    const RunInfo run = *store.find_run("last");
    expect_stored(program.seen(), store, run.id);
    if (run.status == RunStatus::done) return expect_whole(store);  // stored, not yet announced
    EXPECT_TRUE(killed);
    EXPECT_EQ(run.status, RunStatus::interrupted);
    ++interrupted;
    resume_to_the_end();
  });
  EXPECT_GT(interrupted, 0) << "all moments were after the run";
}

TEST_F(KillTest, Worker_LosesAtMostTheContenderThatRan) {
  int replaced = 0;
  for_each_round(1000, [&](std::mt19937& random, const Moment& moment) {
    LiveProgram program(whole_run(), errors());
    program.read(std::max(moment.after_events, 1));  // the first worker has started by then
    usleep(moment.microseconds);
    const std::vector<pid_t> both = workers();
    ASSERT_FALSE(both.empty());
    kill(both[random() % both.size()], SIGKILL);
    const int a_cell_failed = 1;
    EXPECT_THAT(program.read_to_the_end(), AnyOf(Eq(0), Eq(a_cell_failed)));
    const Store store = open_store();
    expect_stored(program.seen(), store, store.find_run("last")->id);
    expect_whole(store);
    replaced += workers().size() > both.size() ? 1 : 0;
    int lost = 0;
    for (const auto& [key, cell] : stored_cells(store, store.find_run("last")->id)) {
      // Out of memory if the system does not report what killed the process.
      EXPECT_THAT(cell.status, AnyOf(CellStatus::ok, CellStatus::crashed, CellStatus::oom)) << key;
      lost += cell.status == CellStatus::ok ? 0 : 1;
    }
    EXPECT_LE(lost, 1);
  });
  EXPECT_GT(replaced, 0);
}

TEST_F(KillTest, Window_EndsNoRun) {
  for_each_round(2000, [&](std::mt19937&, const Moment& moment) {
    LiveProgram program(whole_run(), errors(), Parent::window);
    // Before its first event the program may still be in the window's process group.
    program.read(std::max(moment.after_events, 1));
    usleep(moment.microseconds);
    program.kill_window();
    program.read_all();
    EXPECT_TRUE(is_gone(program.pid()));
    ASSERT_FALSE(program.seen().empty());
    EXPECT_EQ(program.kinds().back(), "finished");
    const Store store = open_store();
    expect_stored(program.seen(), store, store.find_run("last")->id);
    expect_whole(store);
  });
}

}  // namespace
}  // namespace attnscope
