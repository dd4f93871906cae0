// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "engine/measure/heat_device.h"

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

  static ContenderSamples run_one(ContenderCalls calls, const RoundsOptions& options) {
    return run_rounds({&calls, 1}, options).front();
  }

  ContenderCalls working(int contender = 0) {
    return {.contender = contender, .call = [this] { work(); }};
  }

  void work() {
    for (int i = 0; i < 1000; ++i) sink_ = sink_ + 1;
  }

  BlockCache memory_;
  Beacon beacon_;
  std::atomic<bool> cancel_ = false;
  volatile double sink_ = 0;
};

/// Returns the same time for every interval, and counts them.
class FixedStopwatch final : public Stopwatch {
 public:
  explicit FixedStopwatch(double ns) : next_ns(ns) {}
  void start() override { ++starts; }
  double stop_ns() override {
    ++stops;
    return next_ns;
  }
  double next_ns;
  int starts = 0, stops = 0;
};

[[noreturn]] void fail_call() {
  throw std::runtime_error("it failed");
}

TEST_F(RoundsTest, SamplesAreTaggedAndEveryRoundHasAllContenders) {
  const std::vector<ContenderCalls> contenders = {working(0), working(7)};
  const auto results = run_rounds(contenders, options());
  ASSERT_EQ(results.size(), 2U);
  for (const ContenderSamples& result : results) {
    ASSERT_EQ(result.samples.size(), 4U);
    for (int round = 0; round < 4; ++round) {
      const Sample& sample = result.samples[static_cast<std::size_t>(round)];
      EXPECT_EQ(sample.round, round);
      EXPECT_EQ(sample.process, 1);
      EXPECT_EQ(sample.placement, 3);
      EXPECT_GT(sample.time_ns, 0);
      EXPECT_GE(sample.iterations, 1);
      EXPECT_GE(sample.foreign_load, 0);
    }
  }
  EXPECT_TRUE(results[0].settled);
}

TEST_F(RoundsTest, SamplesAreTimedByTheStopwatchOfTheDevice) {
  FixedStopwatch stopwatch(1e7);
  const ContenderSamples result = run_one(working(), options(stopwatch));
  ASSERT_EQ(result.samples.size(), 4U);
  for (const Sample& sample : result.samples) {
    EXPECT_DOUBLE_EQ(sample.time_ns, 1e7);
    EXPECT_EQ(sample.iterations, 1);
  }
  EXPECT_EQ(stopwatch.starts, stopwatch.stops);
  EXPECT_GE(stopwatch.starts, 4);
}

TEST_F(RoundsTest, SampleDuringASuspendIsRepeated) {
  int reads = 0, entered = 0;
  RoundsOptions suspended = options();
  suspended.time_asleep = [&] { return std::chrono::hours(reads++ == 0 ? 0 : 1); };
  ContenderCalls calls = working();
  calls.enter = [&] { ++entered; };
  EXPECT_EQ(run_one(calls, suspended).samples.size(), 4U);
  EXPECT_EQ(entered, 1 + 1 + 4);  // warm-up, the suspended sample, four that count
  EXPECT_EQ(reads, 2 * (1 + 4));
}

TEST_F(RoundsTest, LongCallThatRanBeforeIsNotWarmedUpAgain) {
  FixedStopwatch stopwatch(150e6);
  int known_calls = 0, other_calls = 0;
  const std::vector<ContenderCalls> contenders = {
      {.contender = 0, .call = [&] { ++known_calls; }, .earlier_ns = 160e6},
      {.contender = 1, .call = [&] { ++other_calls; }}};
  const auto results = run_rounds(contenders, options(stopwatch));
  EXPECT_EQ(results[0].samples.size(), 4U);
  EXPECT_EQ(results[1].samples.size(), 4U);
  EXPECT_EQ(known_calls, 4) << "every call is a sample";
  EXPECT_GT(other_calls, 4) << "an unknown call is warmed up";
}

TEST_F(RoundsTest, ContenderWithSamplesOfAnEarlierPlacementIsNotWarmedUpAgain) {
  int calls = 0;
  const ContenderSamples result =
      run_one({.contender = 0, .call = [&] { ++calls; }, .sampled_ns = 0.5e6}, options());
  ASSERT_EQ(result.samples.size(), 4U);
  EXPECT_EQ(result.samples[0].iterations, 3) << "1.2 ms in a sample";
  EXPECT_EQ(calls, 4 * (1 + 3)) << "each sample has one lead-in call, and there are no other calls";
}

TEST_F(RoundsTest, TimeLimitAppliesAfterTheLeastSamples) {
  RoundsOptions limited = options();
  limited.rule = {
      .relative_interval = -1, .seconds = 0, .settled_samples = 1000, .least_samples = 3};
  const ContenderSamples result = run_one(working(), limited);
  EXPECT_EQ(result.samples.size(), 3U);
  EXPECT_FALSE(result.settled);
}

TEST_F(RoundsTest, RoundsContinueUntilTheRatioToTheFirstContenderIsKnown) {
  // The first contender varies by 10% in its first twelve rounds: narrow enough for its own median,
  // too wide for a ratio.
  for (const bool strict : {false, true}) {
    FixedStopwatch stopwatch(1e7);
    int entered = 0;  // for the warm-up and every sample
    const std::vector<ContenderCalls> contenders = {
        {.contender = 0,
         .enter = [&] { ++entered; },
         .call = [&] { stopwatch.next_ns = entered < 14 && entered % 2 == 0 ? 1.1e7 : 1e7; }},
        {.contender = 1, .call = [&] { stopwatch.next_ns = 2e7; }}};
    RoundsOptions scripted = options(stopwatch);
    scripted.rule.relative_interval = 0.2;
    scripted.rule.ratio_interval = strict ? 0.02 : 0.5;
    const auto results = run_rounds(contenders, scripted);
    EXPECT_TRUE(results[0].settled);
    EXPECT_TRUE(results[1].settled);
    EXPECT_EQ(results[0].samples.size(), results[1].samples.size());
    if (strict) {
      EXPECT_GT(results[1].samples.size(), 12U);
    } else {
      EXPECT_EQ(results[1].samples.size(), 4U);
    }
  }
}

/// Own times of a process that waits for half of the 10 ms of each sample while `is_disturbed`.
std::function<OwnTimes()> waiting_while(std::function<bool()> is_disturbed) {
  return [disturbed = std::move(is_disturbed), times = OwnTimes{.waited_ns = 0}]() mutable {
    if (disturbed()) {
      *times.waited_ns += 5e6;
      times.ran_ns += 5e6;
    }
    return times;
  };
}

TEST_F(RoundsTest, DisturbedRoundsAreKeptAndRepeated) {
  FixedStopwatch stopwatch(1e7);
  RoundsOptions busy = options(stopwatch);
  int reads = 0;
  busy.own_times = waiting_while([&] { return ++reads <= 6; });  // two reads per sample
  const ContenderSamples result = run_one(working(), busy);
  ASSERT_EQ(result.samples.size(), 3U + 4U);
  for (std::size_t i = 0; i < result.samples.size(); ++i)
    EXPECT_EQ(is_disturbed(result.samples[i], 1), i < 3) << i;
  EXPECT_EQ(result.samples[0].waited_ns, 5e6);
  EXPECT_EQ(result.samples[0].cpu_ns, 5e6);
  EXPECT_TRUE(result.settled);
}

TEST_F(RoundsTest, ProcessorTimeIsPerCall) {
  FixedStopwatch stopwatch(1e5);  // 12 calls in a sample
  RoundsOptions shared = options(stopwatch);
  shared.own_times = waiting_while([] { return true; });
  const ContenderSamples result = run_one(working(), shared);
  ASSERT_FALSE(result.samples.empty());
  ASSERT_GT(result.samples[0].iterations, 1);
  EXPECT_EQ(result.samples[0].cpu_ns, 5e6 / result.samples[0].iterations);
}

TEST_F(RoundsTest, TimeLimitEndsDisturbedRoundsUnsettled) {
  FixedStopwatch stopwatch(1e7);
  RoundsOptions busy = options(stopwatch);
  busy.own_times = waiting_while([] { return true; });
  busy.rule.seconds = 1e-3;
  busy.rule.least_samples = 2;
  const ContenderSamples result = run_one(working(), busy);
  EXPECT_GE(result.samples.size(), 2U);
  EXPECT_FALSE(result.settled);
}

TEST_F(RoundsTest, FailureOfTheFirstContenderLeavesTheOthersTheirMedians) {
  int entered = 0;  // for the warm-up and every sample
  std::vector<ContenderCalls> contenders = {working(0), working(1), working(2)};
  contenders[0].enter = [&] { ++entered; };
  contenders[0].call = [&] {
    work();
    if (entered > 2) fail_call();
  };
  RoundsOptions strict = options();
  strict.rule.ratio_interval = -1;
  const auto results = run_rounds(contenders, strict);
  EXPECT_EQ(results[1].samples.size(), 4U);
  EXPECT_EQ(results[2].samples.size(), 4U);
  EXPECT_FALSE(results[1].settled) << "its ratio was never known";
}

TEST_F(RoundsTest, OrderIsShuffledInEveryRound) {
  std::vector<int> started;
  std::vector<ContenderCalls> contenders;
  for (int i = 0; i < 6; ++i) {
    contenders.push_back(working(i));
    contenders.back().enter = [&started, i] { started.push_back(i); };
  }
  static_cast<void>(run_rounds(contenders, options()));
  // Warm-up in order, then four rounds of six.
  ASSERT_EQ(started.size(), 30U);
  std::set<std::vector<int>> orders;
  for (auto round = started.begin() + 6; round != started.end(); round += 6)
    orders.insert(std::vector<int>(round, round + 6));
  EXPECT_GT(orders.size(), 1U);
}

TEST_F(RoundsTest, WorkBeforeACallPrecedesEveryCall) {
  std::string calls;
  const ContenderSamples result = run_one({.contender = 0,
                                           .enter = [&] { calls += '|'; },
                                           .before_call = [&] { calls += 'b'; },
                                           .call =
                                               [&] {
                                                 for (int i = 0; i < 100; ++i) work();
                                                 calls += 'c';
                                               }},
                                          options());
  ASSERT_EQ(result.samples.size(), 4U);
  std::string expected = calls.substr(0, calls.find('|', 1));  // the warm-up, of any length
  EXPECT_EQ(expected.substr(0, 7), "|bcbcbc");
  for (const Sample& sample : result.samples) {
    expected += "|bc";  // the lead-in
    for (int i = 0; i < sample.iterations; ++i) expected += "bc";
  }
  EXPECT_EQ(calls, expected);
}

TEST_F(RoundsTest, WorkBeforeACallIsNotTimed) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const auto work_times = [&](int count) {
    for (int i = 0; i < count; ++i) work();
  };
  Seconds before{};
  ContenderCalls calls{.contender = 0, .call = [&] { work_times(500); }};
  calls.before_call = [&] {
    const auto begin = Clock::now();
    work_times(5000);
    before += Clock::now() - begin;
  };
  const auto start = Clock::now();
  const ContenderSamples result = run_one(calls, options());
  const Seconds all = Clock::now() - start;
  Seconds timed{};
  for (const Sample& sample : result.samples)
    timed += Seconds(sample.time_ns * 1e-9 * sample.iterations);
  // Times that do not overlap have at most the sum of all, also on a busy machine.
  EXPECT_LE(before + timed, all);
}

TEST_F(RoundsTest, AFailedContenderIsLeftAndTheOthersContinue) {
  int calls = 0, inside = 0;
  std::vector<ContenderCalls> contenders = {working(0), working(1)};
  contenders[0].enter = [&] { ++inside; };
  contenders[0].leave = [&] { --inside; };
  contenders[0].call = [&] {
    if (++calls > 5) fail_call();
  };
  const auto results = run_rounds(contenders, options());
  ASSERT_TRUE(results[0].failure.has_value());
  EXPECT_EQ(results[0].failure->status, CellStatus::crashed);
  EXPECT_EQ(results[0].failure->reason, "it failed");
  EXPECT_EQ(inside, 0);
  EXPECT_FALSE(results[1].failure.has_value());
  EXPECT_EQ(results[1].samples.size(), 4U);
}

TEST_F(RoundsTest, MemoryThatDoesNotFitIsOomWithItsBytes) {
  const ContenderSamples result =
      run_one({.contender = 0, .call = [] { throw OutOfMemory(700, 600); }}, options());
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->status, CellStatus::oom);
  EXPECT_EQ(result.failure->reason, "requested 700 bytes when 600 bytes were free");
}

TEST_F(RoundsTest, CancelEndsAfterTheCurrentIteration) {
  int calls = 0;
  RoundsOptions endless = options();
  endless.rule.relative_interval = -1;
  ContenderCalls cancelling = working();
  cancelling.call = [&] {
    work();
    if (++calls == 20) cancel_ = true;
  };
  static_cast<void>(run_one(cancelling, endless));
  EXPECT_EQ(calls, 20);
}

TEST_F(RoundsTest, SampleThatNeededFreshMemoryIsRepeated) {
  int entered = 0;
  ContenderCalls calls = working();
  calls.enter = [&] { ++entered; };
  calls.call = [&] {
    work();
    if (entered != 2) return;  // only in the first sample, after the warm-up
    memory_.empty_cache();
    const Buffer fresh(memory_, 4096);
  };
  EXPECT_EQ(run_one(calls, options()).samples.size(), 4U);
  EXPECT_EQ(entered, 1 + 4 + 1);
}

TEST_F(RoundsTest, FreshWorkspaceRepeatsTheFirstSampleOfALongCall) {
  FixedStopwatch stopwatch(150e6);
  Buffer workspace;
  int entered = 0;
  ContenderCalls calls = working();
  calls.earlier_ns = 150e6;
  calls.enter = [&] {
    ++entered;
    workspace = Buffer(memory_, 4096);
  };
  calls.leave = [&] { workspace = Buffer(); };
  EXPECT_EQ(run_one(calls, options(stopwatch)).samples.size(), 4U);
  EXPECT_EQ(entered, 1 + 4);  // without a lead-in, the first sample had page faults
}

TEST(PlacementRule, DividesTimeAndSamplesAmongPlacements) {
  const PlacementRule rule = placement_rule({.relative_interval = 0.02,
                                             .max_seconds = 3,
                                             .min_samples = 22,
                                             .placements = 5,
                                             .processes = 2});
  EXPECT_DOUBLE_EQ(rule.ratio_interval, 0.01);
  EXPECT_DOUBLE_EQ(rule.seconds, 0.6);
  EXPECT_EQ(rule.settled_samples, 5);
  EXPECT_EQ(rule.least_samples, 1);
  const PlacementRule alone = placement_rule({.min_samples = 1, .placements = 1, .processes = 1});
  EXPECT_EQ(alone.settled_samples, 3);
  EXPECT_EQ(alone.least_samples, 3);
}

double relative_half_width(const std::vector<double>& times) {
  OrderedValues values;
  for (const double time : times) values.add(time);
  return values.relative_half_width();
}

TEST(HalfWidth, IsUnknownWithoutPositiveTimes) {
  EXPECT_TRUE(std::isinf(relative_half_width({})));
  EXPECT_TRUE(std::isinf(relative_half_width({0, 0, 0})));
}

TEST(HalfWidth, OfFewTimesIsHalfTheirRangeAndOfManyIgnoresTheTails) {
  EXPECT_EQ(relative_half_width(std::vector<double>(9, 4.0)), 0);
  EXPECT_DOUBLE_EQ(relative_half_width({90, 100, 120}), 0.15);
  EXPECT_EQ(relative_half_width({3, 1, 2, 9, 4, 7, 5, 8, 6}),
            relative_half_width({9, 8, 7, 6, 5, 4, 3, 2, 1}));
  std::vector<double> times(100);
  std::iota(times.begin(), times.end(), 1000);
  times.back() = 1e9;
  // Ranks 40 and 61 of 100, rounded outwards by the interval's 50 -+ 9.8.
  EXPECT_NEAR(relative_half_width(times), 10.5 / 1049.5, 1e-3);
}

TEST(HalfWidth, ShrinksWithMoreTimesOfTheSameSpread) {
  const auto width = [](int count) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) times.push_back(100 + i % 10);
    return relative_half_width(times);
  };
  EXPECT_LT(width(1000), width(20));
}

TEST(SampledSoFar, KnowsMedianAndRatioByTheirOwnSpread) {
  struct Row {
    const char* name;
    int rounds;
    std::function<double(int)> time, reference;
    bool knows_median, knows_ratio;
  };
  const auto drifting = [](int round) { return 100.0 + 10 * round; };
  const auto constant = [](int) { return 100.0; };
  for (const Row& row :
       {Row{"common drift", 20, drifting, [&](int r) { return 2 * drifting(r); }, false, true},
        Row{"noisy reference", 20, constant, [](int r) { return r % 2 == 0 ? 100.0 : 110.0; }, true,
            false},
        Row{"too few samples", 3, constant, constant, false, false}}) {
    SampledSoFar known;
    for (int round = 0; round < row.rounds; ++round) {
      known.add(row.time(round));
      known.add_pair(row.time(round), row.reference(round));
    }
    const PlacementRule rule{
        .relative_interval = 0.02, .ratio_interval = 0.01, .settled_samples = 4};
    EXPECT_EQ(known.knows_median(rule), row.knows_median) << row.name;
    EXPECT_EQ(known.knows_ratio(rule), row.knows_ratio) << row.name;
  }
}

}  // namespace
}  // namespace attnscope::measure
