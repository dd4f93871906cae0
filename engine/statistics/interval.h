#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measured times and the basis on which a heat's times are compared; the times in measuring order,
// split by placement; the 95% interval of a mean over few placements of few worker processes; and
// paired tests.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace attnscope::statistics {

/// One measured time with its nesting levels.
struct Observation {
  int placement = 0;
  int round = 0;
  double time_ns = 0;
  int process = 0;         // the worker process that made the placement
  bool disturbed = false;  // disturbed by something else
};

// Relative standard deviation of placements: on a quiet machine, and where most rounds were
// disturbed (over 450 pairs under five kinds of load, results/trust).
inline constexpr double presumed_placement_spread = 0.013;
inline constexpr double presumed_disturbed_spread = 0.1;

/// Spread of placements of the heat's other contenders: a variance, including the error of the
/// placements' own medians in the presumed one, and the number of placements it counts
/// as in addition to those of the contender itself.
struct PooledSpread {
  double inflation = 1;
  int units = 0;
  double presumed = presumed_placement_spread;
};

/// By default, all rounds count and nothing is pooled.
struct HeatBasis {
  /// Disturbed rounds are left out, and so are placements with too few undisturbed rounds.
  /// Condition: for every contender, at least half of the placements and at least two have at least
  /// a quarter of their rounds and at least two rounds undisturbed.
  bool without_disturbed = false;
  std::vector<int> placements = {};  // the placements that then count, ascending
  /// Too few rounds were undisturbed: times are based on disturbed rounds, of which the faster ones
  /// are used.
  bool is_disturbed = false;
  PooledSpread times = {}, ratios = {};
};

/// The values of one placement, by round.
struct Placement {
  int process = 0;
  int number = 0;
  std::vector<double> values;
};

/// Summary of a placement, as logarithms, so that spreads are relative.
struct Unit {
  int process = 0;
  int number = 0;
  double value = 0;
  double squared_error = 0;  // variance left by its rounds
};
/// The median of each placement's rounds, or the lower quartile where they were disturbed, because
/// disturbances only ever increase times.
[[nodiscard]] std::vector<Unit> units_of(const std::vector<Placement>& placements,
                                         const HeatBasis& basis);

/// Finite observations, sorted by placement and round.
[[nodiscard]] std::vector<Observation> ordered(std::span<const Observation> observations);
/// Splits ordered observations.
[[nodiscard]] std::vector<Placement> by_placement(std::span<const Observation> sorted);

/// The observations of both sides with a common placement and round, in the same order.
struct Pairs {
  std::vector<Observation> a, b;
};
[[nodiscard]] Pairs shared_rounds(std::span<const Observation> a, std::span<const Observation> b);

/// Mean of the two middle values for even counts; NaN for none. All values must be finite.
[[nodiscard]] double median_of(std::vector<double> values);
/// The quantile for `share`, 0 to 1, interpolated between neighbouring values. `values` must not be
/// empty.
[[nodiscard]] double quantile_of(std::vector<double> values, double share);

/// Whether times are based on this observation.
[[nodiscard]] bool counts(const Observation& o, const HeatBasis& basis);
/// The counted observations, ordered, with logarithms of their times; empty when a time is not
/// positive.
[[nodiscard]] std::vector<Observation> counted_logarithms(std::span<const Observation> observations,
                                                          const HeatBasis& basis);

// The 95% interval of a mean over few placements of few worker processes.
//
// Five placements over two processes leave one degree of freedom between processes: Student's t
// interval of two process means is 12.7 standard errors wide and detects nothing, while placements
// treated as independent ignore what those of a process have in common; and two or three
// placements, one of them disturbed, give no usable estimate of the spread. Prior knowledge closes
// this gap. Over 1660 pairs of contenders in the eight runs under results/ (a shared virtual
// machine of two cores), the spread of placements within a process had a median of 1.6%, and the
// additional spread of processes was 0.4 times that. Therefore one unit of a presumed spread is
// added to the measured placements and two to the processes (a scaled inverse chi-squared prior; a
// fit to those runs gives placements 1.35% and 1.4 units), and a process shares a quarter of its
// placements' variance regardless of the data. Up to four more units have the spread of the heat's
// other contenders; where most rounds were disturbed, as many as make five with the measured ones.

/// Relative standard deviation of processes.
inline constexpr double presumed_process_spread = 0.010;
/// Variance that placements of one process share, divided by their own variance.
inline constexpr double presumed_process_share = 0.25;

/// Bounds as logarithms.
struct Interval {
  double low = 0, high = 0;
};

struct Estimate {
  double mean = 0;
  double half_width = 0;  // 95% interval; both are logarithms
};
/// Requires at least one unit; units of one process must be adjacent. Returns the wider of two
/// intervals: that of the placements with their presumed and pooled units, and that of the process
/// means with theirs; where nothing is pooled, also plain Student's t of the placements. For a
/// single unit, only the presumed spread is known.
[[nodiscard]] Estimate estimate(std::span<const Unit> units, const PooledSpread& pooled = {});

/// The same, but a single placement's rounds add their own error; for a single round nothing is
/// known, and the half-width is NaN.
[[nodiscard]] Estimate estimate_with_rounds(std::span<const Unit> units,
                                            std::span<const double> rounds,
                                            const PooledSpread& pooled);
/// The same for a contender's placements.
[[nodiscard]] Estimate time_of(const std::vector<Placement>& placements, const HeatBasis& basis);

/// Margin beyond the rounds of this many placements, as a logarithm: if placements differ by 5%,
/// all of them deviate by this much to one side in at most one of twenty pairs.
[[nodiscard]] double beyond_rounds_of(std::size_t placements);

/// Range of the observed values: a mean is not far outside it, even if a few values suggest so.
class ObservedRange {
 public:
  void add(double value);
  /// The part of the estimate's interval within the observed range extended by `beyond`.
  [[nodiscard]] Interval within(const Estimate& estimate, double beyond) const;

 private:
  Interval observed_{.low = std::numeric_limits<double>::infinity(),
                     .high = -std::numeric_limits<double>::infinity()};
};

[[nodiscard]] double mean_of(std::span<const double> values);
[[nodiscard]] double squares_around(std::span<const double> values, double centre);

/// Half-width of Student's t interval of the mean; infinite for a single value.
[[nodiscard]] double student_half_width(std::span<const double> values);

// Compares two systems on the same queries: whether their means differ (Student's paired t-test),
// and whether they are equivalent within a margin (TOST: two one-sided tests, Schuirmann 1987), as
// in the sparse cross-encoders' paper for its windows:
//
//   t1 = (mean d + margin) / se, p1 = P(T > t1);  t2 = (mean d - margin) / se, p2 = P(T < t2)
//   p = max(p1, p2), with T of n - 1 degrees of freedom and se = sd(d) / sqrt(n)
//
//   PairedTests tests = test_paired(reference, system, {.margin = 0.02, .alpha = 0.05});
//   if (tests.equivalent) ...

struct PairedQuestion {
  double margin = 0.02;  // allowed difference of means, on either side
  double alpha = 0.05;   // level of each test, after any correction
};

struct PairedTests {
  std::int64_t n = 0;
  double difference = 0;  // mean of system - reference
  /// Confidence intervals of the mean difference: one of 1 - 2 * 0.05 independent of alpha, and the
  /// one that lies within the margin exactly if the two are equivalent at alpha. Absent for fewer
  /// than two pairs or for equal differences.
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> interval90{}, interval_alpha{};
  std::optional<double> p_equivalence{}, p_difference{};
  /// From the test or, if all of at least two differences are equal (`without_test`), from whether
  /// this difference is within the margin: without spread there is no test.
  bool equivalent = false;
  bool without_test = false;
};

/// `reference` and `system` have the same length; equal indices form a pair.
[[nodiscard]] PairedTests test_paired(std::span<const double> reference,
                                      std::span<const double> system,
                                      const PairedQuestion& question);

}  // namespace attnscope::statistics
