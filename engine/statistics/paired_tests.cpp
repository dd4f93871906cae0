// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/paired_tests.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <functional>
#include <vector>

namespace attnscope::statistics {

PairedTests test_paired(std::span<const double> reference, std::span<const double> system,
                        const PairedQuestion& question) {
  assert(reference.size() == system.size());
  std::vector<double> differences(system.size());
  std::ranges::transform(system, reference, differences.begin(), std::minus());
  const auto n = static_cast<double>(differences.size());
  PairedTests tests{.n = static_cast<std::int64_t>(differences.size())};
  if (differences.empty()) return tests;
  for (const double difference : differences) tests.difference += difference;
  tests.difference /= n;
  if (differences.size() < 2) return tests;
  tests.without_test = std::ranges::count(differences, differences.front()) == tests.n;
  if (tests.without_test) {
    tests.difference = differences.front();
    tests.equivalent = std::fabs(tests.difference) < question.margin;
    return tests;
  }
  double squares = 0;
  for (const double difference : differences)
    squares += (difference - tests.difference) * (difference - tests.difference);
  const double error = std::sqrt(squares / (n - 1) / n);  // standard error of the mean
  const boost::math::students_t student(n - 1);
  const double above = (tests.difference + question.margin) / error;
  const double below = (tests.difference - question.margin) / error;
  tests.p_equivalence = std::max(cdf(complement(student, above)), cdf(student, below));
  tests.p_difference = 2 * cdf(complement(student, std::fabs(tests.difference / error)));
  tests.equivalent = *tests.p_equivalence < question.alpha;
  const auto interval = [&](double alpha) {
    const double half = quantile(complement(student, alpha)) * error;
    return PairedTests::Interval{tests.difference - half, tests.difference + half};
  };
  constexpr double of_90_percent = 0.05;
  tests.interval90 = interval(of_90_percent);
  tests.interval_alpha = interval(question.alpha);
  return tests;
}

}  // namespace attnscope::statistics
