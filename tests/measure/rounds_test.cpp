// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "engine/measure/block_cache.h"

namespace attnscope::measure {
namespace {

class RoundsTest : public testing::Test {
 protected:
  RoundsOptions options(Stopwatch& stopwatch = wall_clock()) {
    return {.memory = memory_,
            .beacon = beacon_,
            .rule = {.relative_interval = 1e9,
                     .ratio_interval = 1e9,
                     .seconds = 60,
                     .settled_samples = 4},
            .process = 1,
            .placement = 3,
            .seed = 5,
            .cancel = &cancel_,
            .stopwatch = stopwatch,
            .own_times = [] { return OwnTimes{.waited_ns = 0}; }};
  }

  BlockCache memory_;
  Beacon beacon_;
  std::atomic<bool> cancel_ = false;
  volatile double sink_ = 0;

  void work() {
    for (int i = 0; i < 1000; ++i) sink_ = sink_ + 1;
  }
};

TEST_F(RoundsTest, EverySampleIsTagged_AndEveryRoundHasAllContenders) {
  const std::vector<ContenderCalls> contenders = {{.contender = 0, .call = [&] { work(); }},
                                                  {.contender = 7, .call = [&] { work(); }}};
  const auto results = run_rounds(contenders, options());
  ASSERT_EQ(results.size(), 2U);
  ASSERT_EQ(results[0].samples.size(), 4U);
  ASSERT_EQ(results[1].samples.size(), 4U);
  for (std::size_t round = 0; round < 4; ++round) {
    for (const ContenderSamples& result : results) {
      const Sample& sample = result.samples[round];
      EXPECT_EQ(sample.round, static_cast<int>(round));
      EXPECT_EQ(sample.process, 1);
      EXPECT_EQ(sample.placement, 3);
      EXPECT_GT(sample.time_ns, 0);
      EXPECT_GE(sample.iterations, 1);
      EXPECT_GE(sample.foreign_load, 0);
    }
  }
  EXPECT_TRUE(results[0].settled);
}

/// Says how often it was started, in units of 10 ms.
class CountingWatch final : public Stopwatch {
 public:
  void start() override { ++starts; }
  double stop_ns() override {
    ++stops;
    return 1e7;
  }
  int starts = 0, stops = 0;
};

TEST_F(RoundsTest, SamplesAreTimedByTheStopwatchOfTheirDevice) {
  CountingWatch watch;
  const std::vector<ContenderCalls> contenders = {{.contender = 0, .call = [&] { work(); }}};
  const auto results = run_rounds(contenders, options(watch));
  ASSERT_EQ(results[0].samples.size(), 4U);
  for (const Sample& sample : results[0].samples) {
    EXPECT_DOUBLE_EQ(sample.time_ns, 1e7);
    EXPECT_EQ(sample.iterations, 1);
  }
  EXPECT_EQ(watch.starts, watch.stops);
  EXPECT_GE(watch.starts, 4);
}

TEST_F(RoundsTest, SampleOverASuspend_IsTakenAgain) {
  int looks = 0, entered = 0;
  RoundsOptions suspended = options();
  suspended.time_asleep = [&] { return std::chrono::hours(looks++ == 0 ? 0 : 1); };
  const std::vector<ContenderCalls> contenders = {
      {.contender = 0, .enter = [&] { ++entered; }, .call = [&] { work(); }}};
  const auto results = run_rounds(contenders, suspended);
  EXPECT_EQ(results[0].samples.size(), 4U);
  EXPECT_EQ(entered, 1 + 1 + 4);  // warm-up, the sample over the suspend, four that count
  EXPECT_EQ(looks, 2 * (1 + 4));
}

/// Says that every call took 150 ms.
class SlowWatch final : public Stopwatch {
 public:
  void start() override {}
  double stop_ns() override { return 150e6; }
};

TEST_F(RoundsTest, ALongCallThatWasMadeBefore_IsNotWarmedUpAgain) {
  SlowWatch watch;
  int known_calls = 0, other_calls = 0;
  const std::vector<ContenderCalls> contenders = {
      {.contender = 0, .call = [&] { ++known_calls; }, .earlier_ns = 160e6},
      {.contender = 1, .call = [&] { ++other_calls; }}};
  const auto results = run_rounds(contenders, options(watch));
  EXPECT_EQ(results[0].samples.size(), 4U);
  EXPECT_EQ(results[1].samples.size(), 4U);
  EXPECT_EQ(known_calls, 4) << "every call is a sample";
  EXPECT_GT(other_calls, 4) << "one that nobody knows is warmed up";
}

TEST_F(RoundsTest, WhatWasSampledAtAnEarlierPlacement_IsNotWarmedUpAgain) {
  int calls = 0;
  const std::vector<ContenderCalls> contenders = {
      {.contender = 0, .call = [&] { ++calls; }, .sampled_ns = 0.5e6}};
  const auto results = run_rounds(contenders, options());
  ASSERT_EQ(results[0].samples.size(), 4U);
  EXPECT_EQ(results[0].samples[0].iterations, 3) << "1.2 ms in a sample";
  EXPECT_EQ(calls, 4 * (1 + 3)) << "a sample is led in by one call, and nothing else is called";
}

TEST_F(RoundsTest, TimeLimitEndsIt_ButOnlyAfterTheLeastSamples) {
  RoundsOptions limited = options();
  limited.rule = {
      .relative_interval = -1, .seconds = 0, .settled_samples = 1000, .least_samples = 3};
  const std::vector<ContenderCalls> contenders = {{.contender = 0, .call = [&] { work(); }}};
  const auto results = run_rounds(contenders, limited);
  EXPECT_EQ(results[0].samples.size(), 3U);
  EXPECT_FALSE(results[0].settled);
}

/// Says what was called last has set.
class ScriptedWatch final : public Stopwatch {
 public:
  void start() override {}
  double stop_ns() override { return next_ns; }
  double next_ns = 1e7;
};

TEST_F(RoundsTest, RoundsGoOnUntilTheRatioToTheFirstContenderIsKnown) {
  // The first contender swings by 10% in its first twelve rounds: too little for its own median's
  // interval to be refused, too much for a ratio.
  for (const double ratio_interval : {0.5, 0.02}) {
    ScriptedWatch watch;
    int entered = 0;  // to warm up, then for every sample
    const std::vector<ContenderCalls> contenders = {
        {.contender = 0,
         .enter = [&] { ++entered; },
         .call = [&] { watch.next_ns = entered < 14 && entered % 2 == 0 ? 1.1e7 : 1e7; }},
        {.contender = 1, .call = [&] { watch.next_ns = 2e7; }}};
    RoundsOptions scripted{.memory = memory_,
                           .beacon = beacon_,
                           .rule = {.relative_interval = 0.2,
                                    .ratio_interval = ratio_interval,
                                    .seconds = 60,
                                    .settled_samples = 4},
                           .cancel = &cancel_,
                           .stopwatch = watch};
    const auto results = run_rounds(contenders, scripted);
    EXPECT_TRUE(results[0].settled);
    EXPECT_TRUE(results[1].settled);
    EXPECT_EQ(results[0].samples.size(), results[1].samples.size());
    if (ratio_interval > 0.1) {
      EXPECT_EQ(results[1].samples.size(), 4U);
    } else {
      EXPECT_GT(results[1].samples.size(), 12U);
    }
  }
}

/// Own times of a process that waited for half of the 10 ms that CountingWatch says of a sample.
std::function<OwnTimes()> waiting_in(std::function<bool()> is_held_up) {
  return [held_up = std::move(is_held_up), times = OwnTimes{.waited_ns = 0}]() mutable {
    if (held_up()) {
      *times.waited_ns += 5e6;
      times.ran_ns += 5e6;
    }
    return times;
  };
}

TEST_F(RoundsTest, ASampleSaysHowLongItsThreadsRanAndWaited) {
  CountingWatch watch;
  RoundsOptions busy = options(watch);
  busy.own_times = waiting_in([] { return true; });
  const std::vector<ContenderCalls> contenders = {{.contender = 0, .call = [&] { work(); }}};
  busy.rule.seconds = 0;
  const auto results = run_rounds(contenders, busy);
  ASSERT_FALSE(results[0].samples.empty());
  EXPECT_EQ(results[0].samples[0].waited_ns, 5e6);
  EXPECT_EQ(results[0].samples[0].cpu_ns, 5e6);
}

TEST_F(RoundsTest, RoundsThatWereHeldUp_AreKeptAndMeasuredAgain) {
  CountingWatch watch;
  RoundsOptions busy = options(watch);
  int looks = 0;
  busy.own_times = waiting_in([&] { return ++looks <= 6; });  // twice a sample
  const std::vector<ContenderCalls> contenders = {{.contender = 0, .call = [&] { work(); }}};
  const auto results = run_rounds(contenders, busy);
  EXPECT_EQ(results[0].samples.size(), 3U + 4U);
  EXPECT_EQ(std::ranges::count_if(results[0].samples,
                                  [](const Sample& sample) { return is_disturbed(sample, 1); }),
            3);
  EXPECT_TRUE(results[0].settled);
}

TEST_F(RoundsTest, WhereEveryRoundIsHeldUp_TimeEndsItUnsettled) {
  CountingWatch watch;
  RoundsOptions busy = options(watch);
  busy.own_times = waiting_in([] { return true; });
  busy.rule.seconds = 1e-3;
  busy.rule.least_samples = 2;
  const std::vector<ContenderCalls> contenders = {{.contender = 0, .call = [&] { work(); }}};
  const auto results = run_rounds(contenders, busy);
  EXPECT_GE(results[0].samples.size(), 2U);
  EXPECT_FALSE(results[0].settled);
}

TEST_F(RoundsTest, AFirstContenderThatFails_LeavesTheOthersTheirOwnMedians) {
  int entered = 0;  // to warm up, then for every sample
  const std::vector<ContenderCalls> contenders = {{.contender = 0,
                                                   .enter = [&] { ++entered; },
                                                   .call =
                                                       [&] {
                                                         work();
                                                         if (entered > 2)
                                                           throw std::runtime_error("it broke");
                                                       }},
                                                  {.contender = 1, .call = [&] { work(); }},
                                                  {.contender = 2, .call = [&] { work(); }}};
  RoundsOptions strict = options();
  strict.rule.ratio_interval = -1;
  const auto results = run_rounds(contenders, strict);
  EXPECT_EQ(results[1].samples.size(), 4U);
  EXPECT_EQ(results[2].samples.size(), 4U);
  EXPECT_FALSE(results[1].settled) << "its ratio was never known";
}

TEST_F(RoundsTest, OrderIsShuffledFromRoundToRound) {
  std::vector<int> started;
  std::vector<ContenderCalls> contenders;
  for (int i = 0; i < 6; ++i)
    contenders.push_back({.contender = i,
                          .enter = [&started, i] { started.push_back(i); },
                          .call = [&] { work(); }});
  static_cast<void>(run_rounds(contenders, options()));
  // Warm-up in order, then four rounds of six.
  ASSERT_EQ(started.size(), 30U);
  std::set<std::vector<int>> orders;
  for (auto round = started.begin() + 6; round != started.end(); round += 6)
    orders.insert(std::vector<int>(round, round + 6));
  EXPECT_GT(orders.size(), 1U);
}

TEST_F(RoundsTest, WorkBeforeACall_PrecedesEveryOne) {
  std::string seen;
  const std::vector<ContenderCalls> contenders = {{.contender = 0,
                                                   .enter = [&] { seen += '|'; },
                                                   .before_call = [&] { seen += 'b'; },
                                                   .call =
                                                       [&] {
                                                         for (int i = 0; i < 100; ++i) work();
                                                         seen += 'c';
                                                       }}};
  const auto results = run_rounds(contenders, options());
  ASSERT_EQ(results[0].samples.size(), 4U);
  std::string expected = seen.substr(0, seen.find('|', 1));  // the warm-up, as long as it took
  EXPECT_EQ(expected.substr(0, 7), "|bcbcbc");
  for (const Sample& sample : results[0].samples) {
    expected += "|bc";  // the lead-in
    for (int i = 0; i < sample.iterations; ++i) expected += "bc";
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(RoundsTest, WorkBeforeACall_IsNotTimed) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  Seconds before{};
  const std::vector<ContenderCalls> contenders = {{.contender = 0,
                                                   .before_call =
                                                       [&] {
                                                         const auto start = Clock::now();
                                                         for (int i = 0; i < 5000; ++i) work();
                                                         before += Clock::now() - start;
                                                       },
                                                   .call =
                                                       [&] {
                                                         for (int i = 0; i < 500; ++i) work();
                                                       }}};
  const auto start = Clock::now();
  const auto results = run_rounds(contenders, options());
  const Seconds all = Clock::now() - start;
  Seconds timed{};
  for (const Sample& sample : results[0].samples)
    timed += Seconds(sample.time_ns * 1e-9 * sample.iterations);
  // What does not overlap fits into the whole, however busy the machine is.
  EXPECT_LE(before + timed, all);
}

TEST_F(RoundsTest, ContenderThatThrows_LeavesAloneAndTheOthersGoOn) {
  int calls = 0;
  const std::vector<ContenderCalls> contenders = {{.contender = 0,
                                                   .call =
                                                       [&] {
                                                         if (++calls > 5)
                                                           throw std::runtime_error("it broke");
                                                       }},
                                                  {.contender = 1, .call = [&] { work(); }}};
  const auto results = run_rounds(contenders, options());
  ASSERT_TRUE(results[0].failure.has_value());
  EXPECT_EQ(results[0].failure->status, CellStatus::crashed);
  EXPECT_EQ(results[0].failure->reason, "it broke");
  EXPECT_FALSE(results[1].failure.has_value());
  EXPECT_EQ(results[1].samples.size(), 4U);
}

TEST_F(RoundsTest, MemoryThatDoesNotFit_IsOomWithBytes) {
  const std::vector<ContenderCalls> contenders = {
      {.contender = 0, .call = [] { throw OutOfMemory(700, 600); }}};
  const auto results = run_rounds(contenders, options());
  ASSERT_TRUE(results[0].failure.has_value());
  EXPECT_EQ(results[0].failure->status, CellStatus::oom);
  EXPECT_EQ(results[0].failure->reason, "asked for 700 bytes when 600 bytes were free");
}

TEST_F(RoundsTest, WhatWasEnteredIsLeft_AlsoWhenTheCallThrows) {
  int inside = 0;
  const std::vector<ContenderCalls> contenders = {
      {.contender = 0,
       .enter = [&] { ++inside; },
       .call = [] { throw std::runtime_error("it broke"); },
       .leave = [&] { --inside; }}};
  static_cast<void>(run_rounds(contenders, options()));
  EXPECT_EQ(inside, 0);
}

TEST_F(RoundsTest, Cancel_EndsAfterTheIterationThatRuns) {
  int calls = 0;
  const std::vector<ContenderCalls> contenders = {{.contender = 0, .call = [&] {
                                                     work();
                                                     if (++calls == 20) cancel_ = true;
                                                   }}};
  RoundsOptions endless = options();
  endless.rule.relative_interval = -1;
  static_cast<void>(run_rounds(contenders, endless));
  EXPECT_EQ(calls, 20);
}

TEST_F(RoundsTest, SampleThatNeededFreshMemory_IsTakenAgain) {
  int entered = 0;
  const std::vector<ContenderCalls> contenders = {{.contender = 0,
                                                   .enter = [&] { ++entered; },
                                                   .call =
                                                       [&] {
                                                         work();
                                                         // The second visit is the first sample;
                                                         // its cache was emptied by someone else.
                                                         if (entered == 2) {
                                                           memory_.empty_cache();
                                                           const Buffer fresh(memory_, 4096);
                                                         }
                                                       }}};
  const auto results = run_rounds(contenders, options());
  EXPECT_EQ(results[0].samples.size(), 4U);
  EXPECT_EQ(entered, 1 + 4 + 1);
}

TEST_F(RoundsTest, WorkspaceThatIsFresh_CostsALongCallItsFirstSample) {
  SlowWatch watch;
  Buffer workspace;
  int entered = 0;
  const std::vector<ContenderCalls> contenders = {{.contender = 0,
                                                   .enter =
                                                       [&] {
                                                         ++entered;
                                                         workspace = Buffer(memory_, 4096);
                                                       },
                                                   .call = [&] { work(); },
                                                   .leave = [&] { workspace = Buffer(); },
                                                   .earlier_ns = 150e6}};
  const auto results = run_rounds(contenders, options(watch));
  EXPECT_EQ(results[0].samples.size(), 4U);
  EXPECT_EQ(entered, 1 + 4);  // nothing led the first sample in: it met the page faults
}

}  // namespace
}  // namespace attnscope::measure
