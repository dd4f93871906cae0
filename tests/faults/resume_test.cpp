// SPDX-License-Identifier: Apache-2.0
//
// Runs that are cancelled, and go on later.
#include <atomic>

#include "tests/faults/fault_fixture.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RunEvent::Kind;

using ResumeTest = FaultFixture;

TEST_F(ResumeTest, Cancel_KeepsFinishedHeatsAndDropsTheInterruptedOne) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::contender && event.text == "full/endless: time") cancel = 1;
  };
  Sweep sweep = sweep_of(R"("full/dense")", "64, 128, 256");
  sweep.heats[1].contenders[0].implementation = "endless";
  const Ran ran = measured(sweep, how);
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_EQ(ran.info.status, RunStatus::cancelled);
  ASSERT_THAT(ran.cells, SizeIs(1));
  EXPECT_EQ(ran.cells.begin()->first, "64 full/dense");
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 128"));
}

TEST_F(ResumeTest, CancelBeforeTheFirstHeat_MeasuresNothing) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::started) cancel = 2;
  };
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_THAT(ran.cells, IsEmpty());
}

TEST_F(ResumeTest, CancelledRun_GoesOnWithTheRest) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::heat_finished) cancel = 1;
  };
  ASSERT_EQ(run(sweep_of(R"("full/dense", "full/wrong")", "64, 128, 256"), how).outcome->status,
            RunStatus::cancelled);
  static_cast<void>(requests());

  Store store = open_store();
  const auto resumed = resume_run(*store.find_run("last"), store, options());
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->status, RunStatus::done);
  EXPECT_THAT(stored_cells(store, resumed->run), SizeIs(6));
  EXPECT_EQ(resumed->cells_failed, 3);  // the one from before counts again
  EXPECT_THAT(resumed->failures, SizeIs(3));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 128", "heat 256", "ceilings"));
  const RunInfo info = *store.find_run("last");
  EXPECT_EQ(info.status, RunStatus::done);
  EXPECT_EQ(info.heats_done, 3);
}

TEST_F(ResumeTest, Only_HoldsOnResumeAndNoFileIsNeeded) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::heat_finished) cancel = 1;
  };
  const Sweep whole = sweep_of(R"("full/dense", "full/sdpa")", "64, 128, 256");
  Sweep kept =
      *only(whole, *parse_only("implementation=sdpa,sequence_tokens=64,sequence_tokens=256"));
  // A pattern file that is gone by now.
  for (Heat& heat : kept.heats) heat.contenders[0].pattern = "gone.json";
  ASSERT_TRUE(run(kept, how).outcome);

  Store store = open_store();
  ASSERT_TRUE(resume_run(*store.find_run("last"), store, options()));
  const auto cells = stored_cells(store, store.find_run("last")->id);
  ASSERT_THAT(cells, SizeIs(2));
  EXPECT_EQ(cells.at("256 gone.json/sdpa").contender.pattern_json,
            kept.heats[0].contenders[0].pattern_json);
}

TEST_F(ResumeTest, FinishedRun_IsNotResumed) {
  ASSERT_TRUE(run(sweep_of(R"("full/dense")", "64")).outcome);
  Store store = open_store();
  const auto resumed = resume_run(*store.find_run("last"), store, options());
  ASSERT_FALSE(resumed);
  EXPECT_THAT(resumed.error().message, HasSubstr("is done"));
}

TEST_F(ResumeTest, AnotherDeviceBuildOrInstructionSet_IsRefusedByName) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::heat_finished) cancel = 1;
  };
  ASSERT_TRUE(run(sweep_of(R"("full/dense")", "64, 128"), how).outcome);
  Store store = open_store();
  for (const auto& [fault, words] : {std::pair("other-device", "the device 'Fake processor'"),
                                     {"other-build", "the worker commit 'none'"},
                                     {"other-set", "the instruction set 'avx2'"}}) {
    misbehave(fault);
    const auto resumed = resume_run(*store.find_run("last"), store, options());
    ASSERT_FALSE(resumed) << fault;
    EXPECT_THAT(resumed.error().message, HasSubstr(words));
    EXPECT_THAT(resumed.error().message, HasSubstr("'another'"));
    EXPECT_THAT(resumed.error().message, HasSubstr("run --again 1"));
    EXPECT_EQ(store.find_run("last")->status, RunStatus::cancelled);
  }
  misbehave("");
  EXPECT_TRUE(resume_run(*store.find_run("last"), store, options()));
}

TEST_F(ResumeTest, RunningRun_IsNotResumed) {
  DriverOptions how = options();
  std::string message;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind != Kind::heat_started) return;
    Store store = open_store();
    const auto resumed = resume_run(*store.find_run("last"), store, options());
    message = resumed ? "no error" : resumed.error().message;
  };
  ASSERT_TRUE(run(sweep_of(R"("full/dense")", "64"), how).outcome);
  EXPECT_THAT(message, HasSubstr("still running"));
}

}  // namespace
}  // namespace attnscope
