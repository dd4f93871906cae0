// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "tests/statistics/worlds.h"

namespace attnscope::statistics {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<Observation> one_placement(const std::vector<double>& times) {
  std::vector<Observation> result;
  for (const double time : times) result.push_back({0, static_cast<int>(result.size()), time});
  return result;
}

TEST(Summary, TimeIsTheGeometricMeanOfThePlacementsMedians) {
  for (const auto& [times, median] : {std::pair(std::vector<double>{}, 0.0),
                                      {{5}, 5},
                                      {{9, 1, 5}, 5},
                                      {{8, 1, 2, 70}, 4},
                                      {{2, nan, inf, 4}, std::sqrt(8)}}) {
    const Summary s = summarise(one_placement(times));
    EXPECT_DOUBLE_EQ(s.median_ns, median);
    EXPECT_EQ(s.samples, std::ranges::count_if(times, [](double t) { return std::isfinite(t); }));
    EXPECT_EQ(s.placements, times.empty() ? 0 : 1);
  }
  const std::vector<Observation> two{{0, 0, 4}, {0, 1, 4}, {0, 2, 400}, {1, 0, 9}};
  EXPECT_DOUBLE_EQ(summarise(two).median_ns, 6);
}

TEST(Summary, IntervalEndsBeyondTheSamplesUnlessThereIsOne) {
  const Summary two = summarise(one_placement({5, 9}));
  EXPECT_DOUBLE_EQ(two.low_ns, 5 * std::exp(-0.05));
  EXPECT_DOUBLE_EQ(two.high_ns, 9 * std::exp(0.05));
  const Summary one = summarise(one_placement({5}));
  EXPECT_EQ(one.low_ns, one.median_ns);
  EXPECT_EQ(one.high_ns, one.median_ns);
}

/// Six rounds in each of three placements; the first `rounds` of the first `placements` take a
/// thousand times as long.
std::vector<Observation> held_up(int placements, int rounds, bool is_known) {
  std::vector<Observation> result;
  for (int placement = 0; placement < 3; ++placement) {
    for (int round = 0; round < 6; ++round) {
      const bool here = placement < placements && round < rounds;
      result.push_back({.placement = placement,
                        .round = round,
                        .time_ns = here ? 5000.0 : 5.0,
                        .disturbed = here && is_known});
    }
  }
  return result;
}

TEST(Basis, DisturbedRounds_AreIgnoredIfThereAreEnoughOthers) {
  const auto most = held_up(3, 4, true), none = held_up(0, 0, true);
  const HeatBasis basis = basis_of(std::vector{none, most});
  EXPECT_TRUE(basis.without_disturbed);
  EXPECT_FALSE(basis.is_disturbed);
  const Summary s = summarise(most, basis);
  EXPECT_DOUBLE_EQ(s.median_ns, 5);
  EXPECT_EQ(s.samples, 6);
  EXPECT_EQ(s.placements, 3);
  EXPECT_EQ(paired_ratio(none, most, basis).verdict, Verdict::no_difference_shown);
}

TEST(Basis, APlacementDisturbedForOneContender_IsIgnoredForAll) {
  const auto one = held_up(1, 6, true), none = held_up(0, 0, true);
  const HeatBasis basis = basis_of(std::vector{none, one});
  EXPECT_THAT(basis.placements, ElementsAre(1, 2));
  EXPECT_EQ(summarise(none, basis).samples, 12);
  EXPECT_DOUBLE_EQ(summarise(one, basis).median_ns, 5);
}

TEST(Basis, WithoutEnoughOthers_AllRoundsCountAsDisturbed) {
  const auto two = held_up(2, 5, true), none = held_up(0, 0, true);
  const HeatBasis basis = basis_of(std::vector{none, two});
  EXPECT_FALSE(basis.without_disturbed);
  EXPECT_TRUE(basis.is_disturbed);
  EXPECT_EQ(summarise(two, basis).samples, 18);
}

TEST(Basis, WithoutEnoughOthers_ATimeIsTheLowerQuartileOfItsRounds) {
  const auto rounds = one_placement({5, 900, 6, 70, 8, 7, 800, 60, 700});
  EXPECT_DOUBLE_EQ(summarise(rounds).median_ns, 60);
  EXPECT_DOUBLE_EQ(summarise(rounds, {.is_disturbed = true}).median_ns, 7);
  EXPECT_DOUBLE_EQ(summarise(one_placement({9, 4}), {.is_disturbed = true}).median_ns,
                   std::exp(0.75 * std::log(4) + 0.25 * std::log(9)));
}

TEST(Basis, UnknownDisturbancesCount) {
  const auto most = held_up(3, 4, false);
  const HeatBasis basis = basis_of(std::vector{most, held_up(0, 0, false)});
  EXPECT_FALSE(basis.without_disturbed || basis.is_disturbed);
  EXPECT_EQ(summarise(most, basis).samples, 18);
}

TEST(Basis, SpreadOfOtherContenders_WidensAnInterval) {
  const auto contender = [](double apart) {
    return rounds_of(3, 6,
                     [&](int placement, int) { return 10 * std::exp(placement == 1 ? apart : 0); });
  };
  const auto width = [&](double of_others) {
    const HeatBasis basis =
        basis_of(std::vector{contender(0.01), contender(0.02), contender(of_others),
                             contender(-of_others), contender(2 * of_others)});
    const Ratio r = paired_ratio(contender(0.01), contender(0.02), basis);
    return r.high / r.low;
  };
  EXPECT_GT(width(0.3), 1.02 * width(0.01));
}

TEST(Summary, PlacementsThatDiffer_WidenTheIntervalFarBeyondTheirOwnSpread) {
  const Summary wide = summarise(
      rounds_of(5, 20, [](int placement, int round) { return 10 + placement + 0.01 * round; }));
  const Summary narrow =
      summarise(rounds_of(5, 20, [](int, int round) { return 12 + 0.01 * round; }));
  EXPECT_EQ(wide.placements, 5);
  EXPECT_GT(wide.high_ns - wide.low_ns, 2.0);
  EXPECT_LT(narrow.high_ns - narrow.low_ns, 0.3);
}

TEST(Summary, SameSamplesInAnotherOrder_GiveTheSameInterval) {
  auto observations = rounds_of(
      4, 10, [](int placement, int round) { return 100.0 + ((10 * placement + round) * 37) % 41; });
  const Summary forward = summarise(observations);
  std::reverse(observations.begin(), observations.end());
  const Summary backward = summarise(observations);
  EXPECT_EQ(forward.low_ns, backward.low_ns);
  EXPECT_EQ(forward.high_ns, backward.high_ns);
}

TEST(PairedRatio, OfASideWithItself_IsOneWithoutAnyWidth) {
  const auto a = one_placement({5, 6, 7, 8, 9, 10});
  const Ratio r = paired_ratio(a, a);
  EXPECT_TRUE(r.paired);
  EXPECT_EQ(r.ratio, 1);
  EXPECT_EQ(r.low, 1);
  EXPECT_EQ(r.high, 1);
  EXPECT_EQ(r.verdict, Verdict::no_difference_shown);
}

/// Each time once in each of five placements, the last two of a second process.
std::vector<Observation> two_processes(const std::vector<double>& times) {
  const auto time = [&](int, int round) { return times.at(static_cast<std::size_t>(round)); };
  return rounds_of(5, static_cast<int>(times.size()), time, 3);
}

TEST(PairedRatio, HalfInEveryRound_IsFasterWithTheProcessesUncertainty) {
  const auto slow = two_processes({10, 30, 20, 50, 40, 70, 60});
  const auto fast = two_processes({5, 15, 10, 25, 20, 35, 30});
  const Ratio r = paired_ratio(fast, slow);
  EXPECT_DOUBLE_EQ(r.ratio, 0.5);
  // Two presumed processes of 1%: t of 3 degrees.
  EXPECT_NEAR(r.high / r.ratio, std::exp(3.18245 * std::sqrt(2 * 1e-4 / 3 / 2)), 1e-9);
  EXPECT_NEAR(r.ratio / r.low, r.high / r.ratio, 1e-9);
  EXPECT_EQ(r.verdict, Verdict::faster);
  EXPECT_EQ(paired_ratio(slow, fast).verdict, Verdict::slower);
}

TEST(PairedRatio, ASinglePlacement_ShowsOnlyLargeDifferences) {
  const auto slow = one_placement({10, 30, 20, 50, 40, 70, 60});
  const auto little = one_placement({9, 27, 18, 45, 36, 63, 54});
  const auto half = one_placement({5, 15, 10, 25, 20, 35, 30});
  EXPECT_EQ(paired_ratio(little, slow).verdict, Verdict::no_difference_shown);
  EXPECT_EQ(paired_ratio(half, slow).verdict, Verdict::faster);
}

TEST(PairedRatio, ProcessesThatDisagree_AreNotOutvotedByTheirPlacements) {
  // Every placement is 3 to 5% faster, but the processes differ by as much as they agree.
  auto a = rounds_of(
      8, 20, [](int placement, int) { return placement < 4 ? 99.5 : 95.0; }, 4);
  auto b = rounds_of(
      8, 20, [](int, int) { return 100; }, 4);
  EXPECT_EQ(paired_ratio(a, b).verdict, Verdict::no_difference_shown);
  for (Observation& o : a) o.process = o.placement;
  for (Observation& o : b) o.process = o.placement;
  EXPECT_EQ(paired_ratio(a, b).verdict, Verdict::faster) << "eight processes know better";
}

TEST(PairedRatio, DriftThatHitsBothSides_CancelsOnlyWhenPaired) {
  const auto drift = [](int placement, int round) { return 100 + 10.0 * (placement * 30 + round); };
  const auto slow = rounds_of(5, 30, drift, 3);
  const auto fast = rounds_of(
      5, 30, [&](int placement, int round) { return 0.95 * drift(placement, round); }, 3);
  EXPECT_EQ(paired_ratio(fast, slow).verdict, Verdict::faster);
  const Ratio unpaired = unpaired_ratio(fast, slow);
  EXPECT_FALSE(unpaired.paired);
  EXPECT_EQ(unpaired.verdict, Verdict::no_difference_shown);
}

TEST(PairedRatio, UnequalRounds_HaveTheQuotientOfTheShownTimes) {
  const auto a = rounds_of(1, 30, [](int, int round) { return 10.0 + round; });
  const auto b = rounds_of(1, 6, [](int, int round) { return 20.0 + 2 * round; });
  const Ratio r = paired_ratio(a, b);
  EXPECT_TRUE(r.paired);
  EXPECT_DOUBLE_EQ(r.ratio, summarise(a).median_ns / summarise(b).median_ns);
}

TEST(PairedRatio, NoSharedRound_FallsBackToUnpaired) {
  const std::vector<Observation> a{{0, 0, 1}, {0, 1, 1}}, b{{1, 0, 2}, {1, 1, 2}};
  const Ratio r = paired_ratio(a, b);
  EXPECT_FALSE(r.paired);
  EXPECT_DOUBLE_EQ(r.ratio, 0.5);
}

TEST(PairedRatio, OfFewSamplesHasNoVerdict) {
  const Ratio one = paired_ratio(one_placement({1}), one_placement({9}));
  EXPECT_DOUBLE_EQ(one.ratio, 1.0 / 9);
  EXPECT_TRUE(std::isnan(one.low) && std::isnan(one.high));
  EXPECT_EQ(one.verdict, Verdict::no_difference_shown);
  const Ratio two = paired_ratio(one_placement({8, 9.5}), one_placement({10, 10}));
  EXPECT_LT(two.low, 1);
  EXPECT_GT(two.high, 1);
  EXPECT_EQ(two.verdict, Verdict::no_difference_shown);
}

/// A takes 70 in the first of two placements and `second` in the other, B always 100.
Ratio of_two_placements(double second) {
  const auto time = [&](int placement, int) { return placement == 0 ? 70.0 : second; };
  return paired_ratio(rounds_of(2, 100, time), rounds_of(2, 100, [](int, int) { return 100; }));
}

TEST(PairedRatio, OfTwoPlacements_IsAVerdictOnlyIfBothShowTheDifference) {
  EXPECT_EQ(of_two_placements(96).verdict, Verdict::no_difference_shown);
  const Ratio r = of_two_placements(90);
  EXPECT_EQ(r.verdict, Verdict::faster);
  EXPECT_NEAR(r.high, 0.9 * std::exp(0.08), 1e-12);
}

TEST(PairedRatio, AnExtremelyWideInterval_IsUnknown) {
  const auto a = rounds_of(2, 1, [](int placement, int) { return placement == 0 ? 1.0 : 1000.0; });
  const auto b = rounds_of(2, 1, [](int, int) { return 1; });
  EXPECT_FALSE(is_known(paired_ratio(a, b)));
  EXPECT_LE(paired_ratio(a, b).high, 1000 * std::exp(0.08) * (1 + 1e-9));
  EXPECT_TRUE(is_known(of_two_placements(90)));
}

TEST(PairedRatio, OfNothingOrZerosIsNeverAVerdict) {
  const auto zeros = one_placement({0, 0, 0, 0, 0, 0});
  const auto times = one_placement({1, 2, 3, 4, 5, 6});
  const std::vector<Observation> none;
  for (const auto& [a, b, is_undefined] : {std::tuple(none, none, true),
                                           {times, none, true},
                                           {times, zeros, true},
                                           {zeros, times, false},
                                           {zeros, zeros, false}}) {
    EXPECT_EQ(paired_ratio(a, b).verdict, Verdict::no_difference_shown);
    EXPECT_TRUE(!is_undefined || std::isnan(paired_ratio(a, b).ratio));
  }
}

TEST(Outliers, AreSingleFarOrNonFiniteValues) {
  for (const auto& [times, flags] :
       {std::pair(std::vector<double>{10, 11, 10, 12, 11, 100, 10},
                  std::vector<bool>{false, false, false, false, false, true, false}),
        {{5, 5, 5, 9, 5, 5}, {false, false, false, true, false, false}},
        {{1, 2, nan}, {false, false, true}},
        {{5, 5, 5, 5}, {false, false, false, false}},
        {{5}, {false}},
        {{}, {}}})
    EXPECT_EQ(outliers(one_placement(times)), flags);
  const auto slower_placement = rounds_of(
      5, 10, [](int placement, int round) { return (placement == 4 ? 15.0 : 8.0) + 0.01 * round; });
  EXPECT_THAT(outliers(slower_placement), Each(false));
}

struct Repeat {
  double machine = 0.02;  // shift common to all cells of a run
  double cell = 0.01;     // shift of each cell
  double planted = 1;     // factor on the first cell of the second run
};

/// The verdicts of the 12 cells of two runs of one sweep.
std::vector<Verdict> compared(const Repeat& repeat, std::uint32_t seed) {
  constexpr std::uint32_t cells = 12;
  const World world{.process = 0.005, .placement = 0.01, .noise = 0.02};
  Dice dice(seed);
  const double machine = repeat.machine * dice.normal();
  std::vector<Pair> pairs;
  std::vector<Ratio> ratios;
  for (std::uint32_t cell = 0; cell < cells; ++cell) {
    const double moved = std::exp(machine + repeat.cell * dice.normal());
    pairs.push_back(draw(world, moved * (cell == 0 ? repeat.planted : 1), seed * cells + cell));
    ratios.push_back(unpaired_ratio(pairs.back().a, pairs.back().b));
  }
  const BetweenRuns between = between_runs(ratios, 0.03);
  std::vector<Verdict> verdicts;
  for (const Pair& pair : pairs) {
    verdicts.push_back(unpaired_ratio(pair.a, pair.b, between).verdict);
  }
  return verdicts;
}

TEST(BetweenRuns, RepeatsOfOneSweep_DifferInAtMostFivePercentOfTheirCells) {
  constexpr int runs = 100;
  for (const Repeat& repeat : {Repeat{}, Repeat{.machine = 0.04}, Repeat{.cell = 0.03}}) {
    int wrong = 0, all = 0;
    for (std::uint32_t run = 0; run < runs; ++run) {
      for (const Verdict verdict : compared(repeat, 70 + run)) {
        ++all;
        if (verdict != Verdict::no_difference_shown) ++wrong;
      }
    }
    EXPECT_LE(wrong, all * 5 / 100) << repeat.machine << ", " << repeat.cell;
  }
}

TEST(BetweenRuns, ATenPercentSlowdownOfOneContender_IsFound) {
  constexpr int runs = 100;
  int found = 0;
  for (std::uint32_t run = 0; run < runs; ++run) {
    if (compared({.planted = 1.1}, 70 + run).front() == Verdict::slower) ++found;
  }
  EXPECT_GE(found, runs * 90 / 100);
}

Ratio exactly(double ratio) {
  return {.ratio = ratio, .low = ratio / 1.01, .high = ratio * 1.01};
}

TEST(BetweenRuns, CommonShiftIsTheMachinesUpToItsOwnShift) {
  const std::vector<Ratio> little(3, exactly(1.03)), much(3, exactly(0.6));
  EXPECT_NEAR(between_runs(little, 0).shift, std::log(1.03), 1e-12);
  EXPECT_DOUBLE_EQ(between_runs(much, 0).shift, least_machine_shift);
  EXPECT_DOUBLE_EQ(between_runs(much, 0.1).shift, 0.1);
  EXPECT_DOUBLE_EQ(between_runs(much, 3).shift, most_machine_shift);
}

TEST(BetweenRuns, AFewChangedCells_DoNotWidenTheSpread) {
  std::vector<Ratio> ratios(10, exactly(1));
  ratios[0] = exactly(2);
  ratios[1] = exactly(0.5);
  EXPECT_DOUBLE_EQ(between_runs(ratios, 0).spread, least_cell_shift);
  EXPECT_DOUBLE_EQ(between_runs(ratios, 0).shift, 0);
}

TEST(BetweenRuns, WithoutCells_TheDefaultsApply) {
  EXPECT_DOUBLE_EQ(between_runs({}, 0.1).spread, least_cell_shift);
  const std::vector<Ratio> unknown{{.ratio = nan, .low = nan, .high = nan}};
  EXPECT_DOUBLE_EQ(between_runs(unknown, 0.1).shift, 0);
  const std::vector<Ratio> single{{.ratio = 1.02, .low = nan, .high = nan}};
  EXPECT_NEAR(between_runs(single, 0.1).shift, std::log(1.02), 1e-12);
}

int alarms(const World& world, int trials) {
  int count = 0;
  for (int trial = 0; trial < trials; ++trial) {
    if (drift_of(draw(world, 1, 300U + static_cast<std::uint32_t>(trial)).a).is_flagged) ++count;
  }
  return count;
}

std::vector<Observation> noisy_rounds(int placements, int rounds, auto time_of) {
  Dice dice(7);
  return rounds_of(placements, rounds, [&](int placement, int round) {
    return 1e6 * time_of(placement, round) * std::exp(0.003 * dice.normal());
  });
}

TEST(Drift, WithoutDrift_AboutOneCellInAHundredIsFlagged) {
  constexpr int trials = 3000;
  for (const double placement : {0.0, 0.05}) {
    for (const int rounds : {4, 30}) {
      const int flagged =
          alarms({.rounds = rounds, .placement = placement, .common_placement = 0.02}, trials);
      EXPECT_LE(flagged, trials * 16 / 1000) << placement << ", " << rounds << " rounds";
    }
  }
}

TEST(Drift, ATrendOverTheRounds_IsFlaggedWithItsSize) {
  for (const auto& [placements, rounds, change, tolerance] :
       {std::tuple(5, 20, 0.041, 0.005), {5, 20, -0.03, 0.005}, {2, 4000, 0.02, 0.002}}) {
    const Drift drift = drift_of(noisy_rounds(placements, rounds, [&](int, int round) {
      return std::pow(1 + change, round / (rounds - 1.0));
    }));
    EXPECT_TRUE(drift.is_flagged) << change;
    EXPECT_NEAR(drift.change, change, tolerance);
  }
}

TEST(Drift, AStepAmongTheRounds_IsFlagged) {
  const auto cell = noisy_rounds(5, 20, [](int, int round) { return round < 10 ? 1.0 : 1.05; });
  EXPECT_TRUE(drift_of(cell).is_flagged);
  EXPECT_GT(drift_of(cell).change, 0.02);
}

TEST(Drift, AShiftBetweenProcesses_IsFlaggedWithItsSize) {
  auto cell = noisy_rounds(5, 20, [](int placement, int) { return placement < 3 ? 1.0 : 1.06; });
  for (Observation& o : cell) o.process = o.placement < 3 ? 0 : 1;
  EXPECT_TRUE(drift_of(cell).is_flagged);
  EXPECT_NEAR(drift_of(cell).change, 0.06, 0.01);
}

TEST(Drift, PlacementsThatDiffer_AreNoDrift) {
  const auto cell =
      noisy_rounds(5, 20, [](int placement, int) { return 1 + 0.3 * (placement * 3 % 5); });
  EXPECT_FALSE(drift_of(cell).is_flagged);
}

TEST(Drift, CommonDrift_IsNotInTheRatio) {
  const auto trend = [](int, int round) { return std::exp(0.04 * round / 19.0); };
  const auto cell = noisy_rounds(5, 20, trend);
  auto half = cell;
  Dice dice(8);
  for (Observation& o : half) o.time_ns *= 0.5 * std::exp(0.003 * dice.normal());
  EXPECT_TRUE(drift_of(half).is_flagged);
  EXPECT_FALSE(drift_of_ratio(half, cell).is_flagged);
  const auto steady = noisy_rounds(5, 20, [](int, int) { return 1.0; });
  EXPECT_TRUE(drift_of_ratio(half, steady).is_flagged);
}

TEST(Drift, DegenerateTimes_AreNotFlagged) {
  EXPECT_FALSE(drift_of({}).is_flagged);
  EXPECT_FALSE(drift_of(std::vector<Observation>{{0, 0, 1}}).is_flagged);
  EXPECT_FALSE(drift_of(std::vector<Observation>{{0, 0, 0}, {0, 1, -1}, {1, 0, nan}}).is_flagged);
  EXPECT_FALSE(drift_of(std::vector<Observation>(40, {0, 0, 3.0})).is_flagged);
  EXPECT_FALSE(drift_of_ratio({}, {}).is_flagged);
}

}  // namespace
}  // namespace attnscope::statistics
