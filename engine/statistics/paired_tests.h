#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Two systems over the same queries: whether their means differ (Student's paired t-test), and
// whether they are the same within a margin (TOST: two one-sided tests, Schuirmann 1987), as the
// sparse cross-encoders' paper tests its windows:
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
  double margin = 0.02;  // of the difference of means, to either side
  double alpha = 0.05;   // each test's, after any correction
};

struct PairedTests {
  std::int64_t n = 0;
  double difference = 0;  // mean of system - reference
  /// Of the mean difference: with 1 - 2 * 0.05 of confidence whatever alpha is, and the one that
  /// lies within the margin exactly when the two are equivalent at alpha. None of fewer than two
  /// pairs or of differences that are all the same.
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> interval90{}, interval_alpha{};
  std::optional<double> p_equivalence{}, p_difference{};
  /// By the test or, where all differences are the same (`without_test`) and there are two at
  /// least, by whether that one lies within the margin: no spread, no test.
  bool equivalent = false;
  bool without_test = false;
};

/// `reference` and `system` are of the same length, a pair at each place.
[[nodiscard]] PairedTests test_paired(std::span<const double> reference,
                                      std::span<const double> system,
                                      const PairedQuestion& question);

}  // namespace attnscope::statistics
