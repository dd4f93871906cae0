// SPDX-License-Identifier: Apache-2.0
//
// The real measuring process with implementations that misbehave on purpose: each gets an outcome
// and no time, and the cells of the others equal those of a process without it.

#include "tests/faults/fault_fixture.h"

namespace attnscope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

DriverOptions trial_options() {
  DriverOptions options;
  options.worker_command = TRIAL_WORKER_PROGRAM;
  options.command_line = "attnscope run trial.json";
  return options;
}

/// A heat of `contenders` at 64 tokens unless said otherwise, in which every row is compared.
Sweep heat_of(const std::string& contenders, const std::string& more = "",
              const std::string& tokens = "64") {
  auto sweep =
      parse_sweep(fmt::format(R"({{"name": "trial", "contenders": [{}], "sequence_tokens": [{}],
          "query_tokens": 5, "heads": 2, "threads": 1, "batch": {{"max": 2}}{},
          "stop": {{"max_seconds": 0.05, "min_samples": 2, "placements": 2, "processes": 1}}}})",
                              contenders, tokens, more),
                  "trial.json");
  if (!sweep) throw std::runtime_error(sweep.error().message);
  return *sweep;
}

void expect_same_but_for_times(const Cell& a, const Cell& b) {
  EXPECT_EQ(a.status, b.status) << a.reason << b.reason;
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.relative_error, b.relative_error);
  EXPECT_EQ(a.memory.requested_bytes, b.memory.requested_bytes);
  EXPECT_EQ(a.memory.reserved_bytes, b.memory.reserved_bytes);
  EXPECT_EQ(a.memory.workspace_bytes, b.memory.workspace_bytes);
}

/// One run in a database of its own.
class Session : public FaultFixture {
 public:
  using Cells = std::map<std::string, Cell>;
  static Cells cells_of(const Sweep& sweep, const DriverOptions& how = trial_options()) {
    Session session;
    const Ran ran = session.run(sweep, how);
    if (!ran.outcome) throw std::runtime_error(ran.outcome.error().message);
    EXPECT_EQ(ran.outcome->status, RunStatus::done);
    return ran.cells;
  }

 private:
  void TestBody() override {}
};

constexpr const char* neighbours = R"("sparse/segment/4", "full/dense", "full/sdpa")";

/// A heat of every trial that leaves its process running, with its neighbours.
const Session::Cells& failing() {
  static const Session::Cells cells = [] {
    setenv("ATTNSCOPE_MEMORY_LIMIT_MB", "512", 1);
    auto all = Session::cells_of(
        heat_of(fmt::format(R"("sparse/trial-asks-all/4", "sparse/trial-eats-unseen/4",
            "sparse/trial-throw/4", "sparse/trial-nan/4", "sparse/trial-one-mask-cell/4",
            "sparse/trial-beyond-output/4", "sparse/trial-before-output/4",
            "sparse/trial-beyond-workspace/4", "sparse/trial-changes-input/4",
            "sparse/trial-late-wrong/4", "sparse/trial-unseen-memory/4", {})",
                            neighbours)));
    unsetenv("ATTNSCOPE_MEMORY_LIMIT_MB");
    return all;
  }();
  return cells;
}

const Session::Cells& fresh() {
  static const Session::Cells cells = Session::cells_of(heat_of(neighbours));
  return cells;
}

/// A trial's outcome, without times.
const Cell& trial(const Session::Cells& cells, const std::string& id) {
  const Cell& cell = cells.at("64 sparse/trial-" + id + "/4");
  EXPECT_THAT(cell.samples, IsEmpty());
  return cell;
}

void expect_fresh_neighbours(const Session::Cells& cells) {
  for (const auto& [key, cell] : fresh()) {
    SCOPED_TRACE(key);
    EXPECT_EQ(cells.at(key).status, CellStatus::ok);
    EXPECT_THAT(cells.at(key).samples, Not(IsEmpty()));
    expect_same_but_for_times(cells.at(key), cell);
  }
}

TEST(TrialWorker, Faults_HaveAnOutcomeWithoutTimes_AndTheOthersEqualAFreshProcess) {
  struct Fault {
    const char* id;
    CellStatus status;
    std::vector<const char*> words;
    bool exceeds_its_bound = false;
  };
  const Fault faults[] = {
      {"throw", CellStatus::crashed, {"a library gave up in words"}},
      {"nan", CellStatus::wrong, {"not finite"}},
      {"one-mask-cell", CellStatus::wrong, {}, true},
      {"late-wrong", CellStatus::wrong, {"wrong after the timed calls"}, true},
      {"beyond-output", CellStatus::wrong, {"outside its output"}},
      {"before-output", CellStatus::wrong, {"outside its output"}},
      {"beyond-workspace", CellStatus::wrong, {"outside its workspace"}},
      {"changes-input", CellStatus::wrong, {"changed its inputs"}},
      {"asks-all", CellStatus::oom, {"requested 64.0 MiB", "were free"}},
      {"eats-unseen", CellStatus::oom, {"an allocation failed"}},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.id);
    const Cell& cell = trial(failing(), fault.id);
    EXPECT_EQ(cell.status, fault.status);
    for (const char* words : fault.words) EXPECT_THAT(cell.reason, HasSubstr(words));
    if (fault.exceeds_its_bound) {
      EXPECT_GT(cell.relative_error.value(), cell.error_bound.value());
    }
  }
  expect_fresh_neighbours(failing());
}

TEST(TrialWorker, FaultsInsideAModel_HaveAnOutcomeWithoutTimes) {
  const auto cells = Session::cells_of(
      heat_of(R"("sparse/trial-throw/4", "sparse/trial-nan/4", "sparse/trial-one-mask-cell/4",
                 "sparse/trial-late-wrong/4", "sparse/segment/4")",
              R"(, "operation": "model", "layers": 3, "feed_forward": 64)"));
  EXPECT_EQ(trial(cells, "throw").status, CellStatus::crashed);
  EXPECT_THAT(trial(cells, "throw").reason, HasSubstr("a library gave up in words"));
  for (const char* id : {"nan", "one-mask-cell", "late-wrong"}) {
    SCOPED_TRACE(id);
    EXPECT_EQ(trial(cells, id).status, CellStatus::wrong) << trial(cells, id).reason;
    EXPECT_GT(trial(cells, id).relative_error.value(), trial(cells, id).error_bound.value());
  }
  const Cell& neighbour = cells.at("64 sparse/segment/4");
  EXPECT_EQ(neighbour.status, CellStatus::ok) << neighbour.reason;
  EXPECT_THAT(neighbour.samples, Not(IsEmpty()));
}

TEST(TrialWorker, AFamilyThatIsNoCrossEncoder_IsMeasuredInASweep) {
  const auto cells = Session::cells_of(
      heat_of(R"("mean-embeddings/plain", "mean-embeddings/segment", "full/sdpa")",
              R"(, "operation": "model", "layers": 1, "feed_forward": 64)"));
  for (const char* row : {"64 mean-embeddings/plain", "64 full/sdpa"}) {
    const Cell& cell = cells.at(row);
    EXPECT_EQ(cell.status, CellStatus::ok) << row << cell.reason;
    EXPECT_THAT(cell.samples, Not(IsEmpty())) << row;
    EXPECT_LE(cell.relative_error.value(), cell.error_bound.value()) << row;
    EXPECT_GT(cell.work.useful_flop, 0) << row;
  }
  const Cell& declined = cells.at("64 mean-embeddings/segment");
  EXPECT_EQ(declined.status, CellStatus::unsupported);
  EXPECT_THAT(declined.reason, HasSubstr("only by 'plain', not by 'segment'"));
}

TEST(TrialWorker, FaultsThatEndTheProcess_CostOneContenderEach_AndTheOthersEqualAFreshProcess) {
  for (const std::vector<const char*>& together :
       {std::vector{"abort", "segfault", "killed"}, std::vector{"abort-afterwards"}}) {
    std::string contenders;
    for (const char* id : together) contenders += fmt::format("\"sparse/trial-{}/4\", ", id);
    const auto cells = Session::cells_of(heat_of(contenders + neighbours));
    for (const char* id : together) {
      const bool killed = std::string_view(id) == "killed";
      const bool is_oom = killed && !memory_kills();
      EXPECT_EQ(trial(cells, id).status, is_oom ? CellStatus::oom : CellStatus::crashed) << id;
      const char* signal = killed                               ? "SIGKILL"
                           : std::string_view(id) == "segfault" ? "SIGSEGV"
                                                                : "SIGABRT";
      EXPECT_THAT(trial(cells, id).reason, HasSubstr(signal)) << id;
    }
    expect_fresh_neighbours(cells);
  }
}

TEST(TrialWorker, Hanging_IsATimeout_AlsoInATimedCall) {
  DriverOptions how = trial_options();
  how.patience = std::chrono::seconds(10);
  const auto cells = Session::cells_of(
      heat_of(fmt::format(R"("sparse/trial-hang/4", "sparse/trial-hang-timed/4", {})", neighbours)),
      how);
  for (const char* id : {"hang", "hang-timed"}) {
    EXPECT_EQ(trial(cells, id).status, CellStatus::timeout) << id;
    EXPECT_THAT(trial(cells, id).reason, HasSubstr("no sign of life for 10 s"));
  }
  expect_fresh_neighbours(cells);
}

TEST(TrialWorker, MemoryOutsideTheAllocators_IsInThePeakOfTheSystem) {
  const Cell& cell = failing().at("64 sparse/trial-unseen-memory/4");
  const Cell& plain = failing().at("64 sparse/segment/4");
  ASSERT_EQ(cell.status, CellStatus::ok) << cell.reason;
  EXPECT_EQ(cell.memory.requested_bytes, plain.memory.requested_bytes);
  if (!cell.memory.process_peak_bytes)
    GTEST_SKIP() << "this kernel does not let a process forget its peaks";
  EXPECT_TRUE(has_unseen_memory(cell.memory)) << *cell.memory.process_peak_bytes;
  // 100 MiB are touched, of which the kernel may not have counted the last yet.
  EXPECT_GE(peak_bytes(cell.memory), 90 << 20);
  for (const auto& [key, honest] : fresh())
    EXPECT_FALSE(has_unseen_memory(honest.memory)) << key << *honest.memory.process_peak_bytes;
}

TEST(TrialWorker, BackwardCalls_AreCheckedToo) {
  const auto cells = Session::cells_of(heat_of(
      R"("sparse/segment/4", "sparse/segment-twin/4", "sparse/segment-slowed/4",
         "sparse/trial-late-wrong/4", "sparse/trial-beyond-workspace/4", "full/dense", "full/sdpa",
         "sparse/windowed/4", "sparse/longformer-chunks/4")",
      R"(, "direction": "forward-backward")"));
  for (const auto& [key, cell] : cells) {
    const bool faulty = key.find("trial-") != std::string::npos;
    EXPECT_EQ(cell.status, faulty ? CellStatus::wrong : CellStatus::ok) << key << cell.reason;
  }
}

}  // namespace
}  // namespace attnscope
