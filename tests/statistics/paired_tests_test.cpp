// SPDX-License-Identifier: Apache-2.0
//
// The paired tests against scipy (scripts/dev/golden/make_effectiveness.py).

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/statistics/interval.h"

namespace attnscope::statistics {
namespace {

std::vector<double> numbers(const std::string& text) {
  std::vector<double> values;
  std::istringstream stream(text);
  for (double value = 0; stream >> value;) values.push_back(value);
  return values;
}

TEST(PairedTests, AreEqualToScipys) {
  std::ifstream file(ATTNSCOPE_SOURCE_DIR "/tests/statistics/golden/paired.tsv");
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    std::istringstream stream(line);
    std::string reference, system, rest;
    std::getline(stream, reference, '\t');
    std::getline(stream, system, '\t');
    std::getline(stream, rest);
    const std::vector<double> expected = numbers(rest);
    ASSERT_EQ(expected.size(), 5U);
    const PairedTests tests =
        test_paired(numbers(reference), numbers(system), {.margin = expected[0], .alpha = 0.05});
    ASSERT_TRUE(tests.p_equivalence && tests.p_difference && tests.interval90);
    EXPECT_NEAR(*tests.p_equivalence, expected[1], 1e-10) << cases;
    EXPECT_NEAR(*tests.p_difference, expected[2], 1e-10) << cases;
    EXPECT_NEAR(tests.interval90->low, expected[3], 1e-10) << cases;
    EXPECT_NEAR(tests.interval90->high, expected[4], 1e-10) << cases;
    EXPECT_EQ(tests.equivalent, expected[1] < 0.05) << cases;
  }
  EXPECT_GT(cases, 50);
}

TEST(PairedTests, EquivalentAtAlpha_IfTheIntervalIsWithinTheMargin) {
  const std::vector<double> a{0.1, 0.5, 0.3, 0.8, 0.6}, b{0.12, 0.48, 0.33, 0.79, 0.62};
  for (const double alpha : {0.2, 0.05, 0.01, 0.003}) {
    for (const double margin : {0.01, 0.02, 0.03, 0.05, 0.08, 0.2}) {
      const PairedTests tests = test_paired(a, b, {.margin = margin, .alpha = alpha});
      EXPECT_EQ(tests.equivalent,
                tests.interval_alpha->low > -margin && tests.interval_alpha->high < margin);
    }
  }
}

TEST(PairedTests, WithoutSpreadThereIsNoTest) {
  const std::vector<double> a{0.25, 0.5, 0.75}, b{0.375, 0.625, 0.875};
  const PairedTests same = test_paired(a, a, {.margin = 0.02});
  EXPECT_TRUE(same.without_test && same.equivalent);
  EXPECT_FALSE(same.p_equivalence || same.p_difference || same.interval90);
  const PairedTests shifted = test_paired(a, b, {.margin = 0.02});
  EXPECT_TRUE(shifted.without_test);
  EXPECT_FALSE(shifted.equivalent);
  EXPECT_DOUBLE_EQ(shifted.difference, 0.125);
}

TEST(PairedTests, OneQueryOrNoneHasNoResult) {
  const std::vector<double> one{0.5};
  for (const PairedTests& tests : {test_paired(one, one, {}), test_paired({}, {}, {})}) {
    EXPECT_FALSE(tests.equivalent || tests.without_test || tests.p_equivalence);
  }
}

}  // namespace
}  // namespace attnscope::statistics
