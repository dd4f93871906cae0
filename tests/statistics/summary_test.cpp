// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnscope::statistics {
namespace {

using testing::Each;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<Observation> one_placement(std::initializer_list<double> times) {
  std::vector<Observation> result;
  for (const double time : times) result.push_back({0, static_cast<int>(result.size()), time});
  return result;
}

TEST(Summary, NoSamples_AreAllZero) {
  const Summary s = summarise({});
  EXPECT_EQ(s.samples, 0);
  EXPECT_EQ(s.placements, 0);
  EXPECT_EQ(s.median_ns, 0);
}

TEST(Summary, OneSample_IsItsOwnInterval) {
  const Summary s = summarise(one_placement({5}));
  EXPECT_DOUBLE_EQ(s.median_ns, 5);
  EXPECT_EQ(s.low_ns, s.median_ns);
  EXPECT_EQ(s.high_ns, s.median_ns);
  EXPECT_EQ(s.samples, 1);
}

TEST(Summary, AnInterval_EndsALittleBeyondWhatWasSeen) {
  const Summary s = summarise(one_placement({5, 9}));
  EXPECT_DOUBLE_EQ(s.low_ns, 5 * std::exp(-0.05));
  EXPECT_DOUBLE_EQ(s.high_ns, 9 * std::exp(0.05));
}

TEST(Summary, Time_IsTheGeometricMeanOfThePlacementsMedians) {
  EXPECT_DOUBLE_EQ(summarise(one_placement({9, 1, 5})).median_ns, 5);
  EXPECT_DOUBLE_EQ(summarise(one_placement({8, 1, 2, 70})).median_ns, 4);
  const std::vector<Observation> two{{0, 0, 4}, {0, 1, 4}, {0, 2, 400}, {1, 0, 9}};
  EXPECT_DOUBLE_EQ(summarise(two).median_ns, 6);
}

/// Six rounds in each of three placements, of which some take a thousand times as long.
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

TEST(Basis, RoundsThatWereHeldUp_DoNotCountWhereThereAreEnoughOthers) {
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

TEST(Basis, APlacementThatWasHeldUpForOneContender_CountsForNone) {
  const auto one = held_up(1, 6, true), none = held_up(0, 0, true);
  const HeatBasis basis = basis_of(std::vector{none, one});
  EXPECT_THAT(basis.placements, testing::ElementsAre(1, 2));
  EXPECT_EQ(summarise(none, basis).samples, 12);
  EXPECT_DOUBLE_EQ(summarise(one, basis).median_ns, 5);
}

TEST(Basis, WithoutEnoughOthers_AllRoundsCountAndItIsSaid) {
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

TEST(Basis, RoundsOfWhichNobodyKnowsThatTheyWereHeldUp_Count) {
  const auto most = held_up(3, 4, false);
  const HeatBasis basis = basis_of(std::vector{most, held_up(0, 0, false)});
  EXPECT_FALSE(basis.without_disturbed);
  EXPECT_FALSE(basis.is_disturbed);
  EXPECT_EQ(summarise(most, basis).samples, 18);
}

TEST(Basis, SpreadOfOtherContenders_WidensAnInterval) {
  const auto contender = [](double apart) {
    std::vector<Observation> result;
    for (int placement = 0; placement < 3; ++placement) {
      for (int round = 0; round < 6; ++round)
        result.push_back({placement, round, 10 * std::exp(placement == 1 ? apart : 0)});
    }
    return result;
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
  std::vector<Observation> apart, together;
  for (int placement = 0; placement < 5; ++placement) {
    for (int round = 0; round < 20; ++round) {
      const double noise = 0.01 * round;
      apart.push_back({placement, round, 10 + placement + noise});
      together.push_back({placement, round, 12 + noise});
    }
  }
  const Summary wide = summarise(apart), narrow = summarise(together);
  EXPECT_EQ(wide.placements, 5);
  EXPECT_GT(wide.high_ns - wide.low_ns, 2.0);
  EXPECT_LT(narrow.high_ns - narrow.low_ns, 0.3);
}

TEST(Summary, SameSamplesInAnotherOrder_GiveTheSameInterval) {
  std::vector<Observation> observations;
  for (int i = 0; i < 40; ++i) observations.push_back({i / 10, i % 10, 100.0 + (i * 37) % 41});
  const Summary forward = summarise(observations);
  std::reverse(observations.begin(), observations.end());
  const Summary backward = summarise(observations);
  EXPECT_EQ(forward.low_ns, backward.low_ns);
  EXPECT_EQ(forward.high_ns, backward.high_ns);
}

TEST(Summary, TimesThatAreNotFinite_TakeNoPart) {
  const Summary s = summarise(one_placement({2, nan, inf, 4}));
  EXPECT_DOUBLE_EQ(s.median_ns, std::sqrt(8));
  EXPECT_EQ(s.samples, 2);
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

std::vector<Observation> two_processes(std::initializer_list<double> times) {
  // Every time once in each of five placements, the last two of another process.
  std::vector<Observation> result;
  for (int placement = 0; placement < 5; ++placement) {
    int round = 0;
    for (const double time : times) {
      result.push_back({placement, round++, time, placement < 3 ? 0 : 1});
    }
  }
  return result;
}

TEST(PairedRatio, ExactlyHalfInEveryRound_IsFasterAndAsSureAsProcessesAllow) {
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

TEST(PairedRatio, ASinglePlacement_CannotTellLessThanPlacementsDifferBy) {
  const auto slow = one_placement({10, 30, 20, 50, 40, 70, 60});
  const auto little = one_placement({9, 27, 18, 45, 36, 63, 54});
  const auto half = one_placement({5, 15, 10, 25, 20, 35, 30});
  EXPECT_EQ(paired_ratio(little, slow).verdict, Verdict::no_difference_shown);
  EXPECT_EQ(paired_ratio(half, slow).verdict, Verdict::faster);
}

TEST(PairedRatio, ProcessesThatDisagree_AreNotOutvotedByTheirPlacements) {
  // Every placement is 3 to 5% faster, but the processes differ by as much as they agree.
  std::vector<Observation> a, b;
  for (int placement = 0; placement < 8; ++placement) {
    for (int round = 0; round < 20; ++round) {
      const int process = placement < 4 ? 0 : 1;
      a.push_back({placement, round, process == 0 ? 99.5 : 95.0, process});
      b.push_back({placement, round, 100, process});
    }
  }
  EXPECT_EQ(paired_ratio(a, b).verdict, Verdict::no_difference_shown);
  for (Observation& o : a) o.process = o.placement;
  for (Observation& o : b) o.process = o.placement;
  EXPECT_EQ(paired_ratio(a, b).verdict, Verdict::faster) << "eight processes know better";
}

TEST(PairedRatio, DriftThatHitsBothSides_CancelsOnlyWhenPaired) {
  std::vector<Observation> slow, fast;
  for (int placement = 0; placement < 5; ++placement) {
    for (int round = 0; round < 30; ++round) {
      const double drift = 100 + 10.0 * (placement * 30 + round);
      slow.push_back({placement, round, drift, placement < 3 ? 0 : 1});
      fast.push_back({placement, round, 0.95 * drift, placement < 3 ? 0 : 1});
    }
  }
  EXPECT_EQ(paired_ratio(fast, slow).verdict, Verdict::faster);
  const Ratio unpaired = unpaired_ratio(fast, slow);
  EXPECT_FALSE(unpaired.paired);
  EXPECT_EQ(unpaired.verdict, Verdict::no_difference_shown);
}

TEST(PairedRatio, UnequalRounds_HaveTheQuotientOfTheShownTimes) {
  std::vector<Observation> a, b;
  for (int round = 0; round < 30; ++round) {
    a.push_back({0, round, 10.0 + round});
    if (round < 6) b.push_back({0, round, 20.0 + 2 * round});
  }
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

TEST(PairedRatio, OneSample_HasARatioButNoIntervalAndNoVerdict) {
  const Ratio r = paired_ratio(one_placement({1}), one_placement({9}));
  EXPECT_DOUBLE_EQ(r.ratio, 1.0 / 9);
  EXPECT_TRUE(std::isnan(r.low));
  EXPECT_TRUE(std::isnan(r.high));
  EXPECT_EQ(r.verdict, Verdict::no_difference_shown);
}

TEST(PairedRatio, TwoNoisySamples_ShowNothing) {
  const Ratio r = paired_ratio(one_placement({8, 9.5}), one_placement({10, 10}));
  EXPECT_LT(r.low, 1);
  EXPECT_GT(r.high, 1);
  EXPECT_EQ(r.verdict, Verdict::no_difference_shown);
}

/// A takes 70 in the first of two placements and `second` in the other, B always 100.
Ratio of_two_placements(double second) {
  std::vector<Observation> a, b;
  for (int placement = 0; placement < 2; ++placement) {
    for (int round = 0; round < 100; ++round) {
      a.push_back({placement, round, placement == 0 ? 70.0 : second});
      b.push_back({placement, round, 100.0});
    }
  }
  return paired_ratio(a, b);
}

TEST(PairedRatio, TwoPlacementsThatDisagree_ShowNothingHoweverManyRounds) {
  EXPECT_EQ(of_two_placements(96).verdict, Verdict::no_difference_shown);
}

TEST(PairedRatio, ADifferenceThatEveryRoundShows_IsAVerdict) {
  const Ratio r = of_two_placements(90);
  EXPECT_EQ(r.verdict, Verdict::faster);
  EXPECT_NEAR(r.high, 0.9 * std::exp(0.08), 1e-12);
}

TEST(PairedRatio, AnIntervalThatIsAstronomicallyWide_SaysThatLittleIsKnown) {
  std::vector<Observation> a, b;
  for (int placement = 0; placement < 2; ++placement) {
    a.push_back({placement, 0, placement == 0 ? 1.0 : 1000.0});
    b.push_back({placement, 0, 1});
  }
  EXPECT_FALSE(is_known(paired_ratio(a, b)));
  EXPECT_LE(paired_ratio(a, b).high, 1000 * std::exp(0.08) * (1 + 1e-9));
  EXPECT_TRUE(is_known(of_two_placements(90)));
}

TEST(PairedRatio, Nothing_IsUndefined) {
  EXPECT_TRUE(std::isnan(paired_ratio({}, {}).ratio));
  EXPECT_TRUE(std::isnan(paired_ratio(one_placement({1, 2}), {}).ratio));
  EXPECT_EQ(paired_ratio({}, {}).verdict, Verdict::no_difference_shown);
}

TEST(PairedRatio, Zeros_AreUndefinedAndNeverAVerdict) {
  const auto zeros = one_placement({0, 0, 0, 0, 0, 0});
  const auto times = one_placement({1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(std::isnan(paired_ratio(times, zeros).ratio));
  EXPECT_EQ(paired_ratio(times, zeros).verdict, Verdict::no_difference_shown);
  EXPECT_EQ(paired_ratio(zeros, times).verdict, Verdict::no_difference_shown);
  EXPECT_EQ(paired_ratio(zeros, zeros).verdict, Verdict::no_difference_shown);
}

TEST(Verdict, Names_AreTheWordsOfTables) {
  EXPECT_EQ(name_of(Verdict::faster), "faster");
  EXPECT_EQ(name_of(Verdict::slower), "slower");
  EXPECT_EQ(name_of(Verdict::no_difference_shown), "no difference shown");
}

TEST(Outliers, OneFarValue_IsFlaggedAlone) {
  const auto flags = outliers(one_placement({10, 11, 10, 12, 11, 100, 10}));
  EXPECT_THAT(flags, testing::ElementsAre(false, false, false, false, false, true, false));
}

TEST(Outliers, AFarValueAmongEqualOnes_IsFlaggedThoughTheMedianDeviationIsZero) {
  const auto flags = outliers(one_placement({5, 5, 5, 5, 5, 5, 5, 5, 5, 9}));
  EXPECT_TRUE(flags.back());
  EXPECT_EQ(std::count(flags.begin(), flags.end(), true), 1);
}

TEST(Outliers, EqualValuesAndSingleValues_AreNeverFlagged) {
  EXPECT_THAT(outliers(one_placement({5, 5, 5, 5})), Each(false));
  EXPECT_THAT(outliers(one_placement({5})), Each(false));
  EXPECT_TRUE(outliers({}).empty());
}

TEST(Outliers, AWholePlacementThatIsSlower_IsNotAnOutlier) {
  std::vector<Observation> observations;
  for (int placement = 0; placement < 5; ++placement) {
    for (int round = 0; round < 10; ++round) {
      observations.push_back({placement, round, (placement == 4 ? 15.0 : 8.0) + 0.01 * round});
    }
  }
  EXPECT_THAT(outliers(observations), Each(false));
}

TEST(Outliers, ATimeThatIsNotFinite_IsFlagged) {
  EXPECT_TRUE(outliers(one_placement({1, 2, nan}))[2]);
}

}  // namespace
}  // namespace attnscope::statistics
