// SPDX-License-Identifier: Apache-2.0
#include "app/drawing/axis_scale.h"

#include <gtest/gtest.h>

#include <clocale>
#include <limits>

namespace attnscope::charts {
namespace {

std::vector<std::string> labels(const AxisScale& axis) {
  std::vector<std::string> result;
  for (const Tick& tick : axis.ticks()) result.push_back(tick.label.toStdString());
  return result;
}

using Labels = std::vector<std::string>;

TEST(AxisScale, LabelsEveryPowerOfTwo) {
  const AxisScale axis(ScaleKind::log2, std::vector<double>{64, 512, 4096});
  EXPECT_EQ(labels(axis), (Labels{"64", "128", "256", "512", "1024", "2048", "4096"}));
  EXPECT_LT(axis.low(), 64);
  EXPECT_GT(axis.high(), 4096);
  for (int power = 1; power < 45; ++power) {
    const double high = std::exp2(power);
    const AxisScale two(ScaleKind::log2, std::vector<double>{high / 2, high});
    EXPECT_EQ(two.ticks().size(), 2U) << power;
  }
}

TEST(AxisScale, OneLengthHasTwoTicksAroundIt) {
  for (const double length : {1.0, 100.0, 128.0, 174.0, 4096.0}) {
    const AxisScale axis(ScaleKind::log2, std::vector<double>{length});
    EXPECT_GE(axis.ticks().size(), 2U) << length;
    EXPECT_GT(axis.fraction(length), 0.01) << length;
    EXPECT_LT(axis.fraction(length), 0.99) << length;
  }
}

TEST(AxisScale, TimesSpanDecadesWithMinorTicks) {
  const AxisScale axis(ScaleKind::log10, std::vector<double>{0.02, 300});
  EXPECT_EQ(labels(axis), (Labels{"0.1", "1", "10", "100"}));
  EXPECT_GT(axis.minor_ticks().size(), 20U);
  EXPECT_DOUBLE_EQ(axis.low(), 0.02);
  EXPECT_DOUBLE_EQ(axis.high(), 500);
}

TEST(AxisScale, SimilarValuesFillTheAxis) {
  const std::vector<double> values{1, 1.01, 1.04};
  const AxisScale axis(ScaleKind::log10, values);
  EXPECT_GT(axis.place(1), 0);
  EXPECT_LT(axis.place(1.04), 1);
  EXPECT_GT(axis.place(1.04) - axis.place(1), 0.7);
  EXPECT_GE(axis.ticks().size(), 3U);
}

TEST(AxisScale, OneValueHasARangeAroundIt) {
  for (const double value : {1e-9, 0.3, 1.0, 2.0, 7.0, 1e12}) {
    const AxisScale axis(ScaleKind::log10, std::vector<double>{value});
    EXPECT_LT(axis.low(), value * (1 + 1e-12));
    EXPECT_GT(axis.high(), axis.low());
    EXPECT_GE(axis.ticks().size(), 2U) << value;
  }
}

TEST(AxisScale, LogAxisIgnoresZeroAndNaN) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const AxisScale axis(ScaleKind::log10, std::vector<double>{0, nan, -3, 1, infinite, 100});
  EXPECT_DOUBLE_EQ(axis.low(), 1);
  EXPECT_DOUBLE_EQ(axis.high(), 100);
}

TEST(AxisScale, LinearAxisStartsAtZero) {
  const AxisScale axis(ScaleKind::linear, std::vector<double>{0.4, 0.93});
  EXPECT_EQ(axis.low(), 0);
  EXPECT_GE(axis.high(), 0.93);
  EXPECT_EQ(labels(axis).front(), "0");
}

TEST(AxisScale, ThinnedTicksKeepPowersOfTenWithinTheLimit) {
  AxisScale axis(ScaleKind::log10, std::vector<double>{0.1, 10});
  EXPECT_EQ(labels(axis), (Labels{"0.1", "0.2", "0.5", "1", "2", "5", "10"}));
  axis.keep_at_most(4);
  EXPECT_EQ(labels(axis), (Labels{"0.1", "1", "10"}));
  for (int most = 2; most < 12; ++most) {
    AxisScale thinned(ScaleKind::log2, std::vector<double>{1, 1 << 20});
    thinned.keep_at_most(most);
    EXPECT_LE(static_cast<int>(thinned.ticks().size()), most);
  }
}

TEST(AxisScale, ANamedEndReplacesNearbyTicks) {
  AxisScale log(ScaleKind::log2, std::vector<double>{16, 300, 1024});
  log.name_end(300, QStringLiteral("inf"));
  EXPECT_EQ(labels(log), (Labels{"16", "32", "64", "128", "inf"}));
  AxisScale linear(ScaleKind::linear, std::vector<double>{0, 305});
  linear.name_end(305, QStringLiteral("inf"));
  EXPECT_EQ(labels(linear), (Labels{"0", "100", "200", "inf"}));
  AxisScale zoomed = AxisScale::within(ScaleKind::linear, {0, 100});
  zoomed.name_end(305, QStringLiteral("inf"));
  EXPECT_EQ(zoomed.ticks().back().label, QStringLiteral("100"));
}

TEST(NumberText, KeepsWholeDigitsAndTrimsZeros) {
  EXPECT_EQ(number_text(16384), "16384");
  EXPECT_EQ(number_text(2.4), "2.4");
  EXPECT_EQ(number_text(0.012345), "0.0123");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(3e-7), "3e-07");
}

TEST(NumberText, HasADecimalPointInEveryLocale) {
  const char* set = std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(number_text(2.5), "2.5");
  if (set != nullptr) std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace attnscope::charts
