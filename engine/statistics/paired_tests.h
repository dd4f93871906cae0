#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Compares two systems on the same queries: whether their means differ (Student's paired t-test),
// and whether they are equivalent within a margin (TOST: two one-sided tests, Schuirmann 1987), as
// in the sparse cross-encoders' paper for its windows:
//
//   t1 = (mean d + margin) / se, p1 = P(T > t1);  t2 = (mean d - margin) / se, p2 = P(T < t2)
//   p = max(p1, p2), with T of n - 1 degrees of freedom and se = sd(d) / sqrt(n)
//
//   PairedTests tests = test_paired(reference, system, {.margin = 0.02, .alpha = 0.05});
//   if (tests.equivalent) ...

#include <cstdint>
#include <optional>
#include <span>

namespace attnscope::statistics {

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
  /// The test decides or, if all of at least two differences are equal (`without_test`), whether
  /// this difference is within the margin: without spread there is no test.
  bool equivalent = false;
  bool without_test = false;
};

/// `reference` and `system` have the same length; equal indices form a pair.
[[nodiscard]] PairedTests test_paired(std::span<const double> reference,
                                      std::span<const double> system,
                                      const PairedQuestion& question);

}  // namespace attnscope::statistics
