// SPDX-License-Identifier: Apache-2.0
#include "engine/report/number_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/report/table.h"

namespace attnscope::report {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(NumberText, ThreeDigits_HaveNoExponent) {
  EXPECT_EQ(three_digits(2.414), "2.41");
  EXPECT_EQ(three_digits(2.4), "2.40");
  EXPECT_EQ(three_digits(12.64), "12.6");
  EXPECT_EQ(three_digits(368.4), "368");
  EXPECT_EQ(three_digits(12345), "12345");
  EXPECT_EQ(three_digits(0.01234), "0.0123");
  EXPECT_EQ(three_digits(0), "0");
}

TEST(NumberText, RoundingUp_DoesNotAddADigit) {
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(three_digits(0.9999), "1.00");
}

TEST(NumberText, Times_HaveAFittingUnit) {
  EXPECT_EQ(format_time(2.41e6), "2.41 ms");
  EXPECT_EQ(format_time(368e3), "368 µs");
  EXPECT_EQ(format_time(12), "12.0 ns");
  EXPECT_EQ(format_time(1.2e9), "1.20 s");
  EXPECT_EQ(format_time(999.96e3), "1.00 ms");
  EXPECT_EQ(format_time(0), "0 ns");
  EXPECT_EQ(format_time(nan), "–");
}

TEST(NumberText, Bytes_UsePowersOfAThousand) {
  EXPECT_EQ(format_bytes(12.6e6), "12.6 MB");
  EXPECT_EQ(format_bytes(1608e6), "1.61 GB");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(0), "0 B");
}

TEST(NumberText, Relative_IsRatioMinusOneInPercent) {
  EXPECT_EQ(format_relative(0.57), "-43 %");
  EXPECT_EQ(format_relative(2.7), "+170 %");
  EXPECT_EQ(format_relative(1.023), "+2.3 %");
  EXPECT_EQ(format_relative(0.98), "-2.0 %");
  EXPECT_EQ(format_relative(0.0123), "-98.8 %");
  EXPECT_EQ(format_relative(1), "0 %");
  EXPECT_EQ(format_relative(0.99999), "0 %");
  EXPECT_EQ(format_relative(nan), "–");
}

TEST(NumberText, Factors_HaveThreeDigits) {
  EXPECT_EQ(format_times(1.953), "1.95x");
  EXPECT_EQ(format_times(292.7), "293x");
  EXPECT_EQ(format_times(nan), "–");
}

TEST(NumberText, Width_CountsCodePoints) {
  EXPECT_EQ(width_of("µs"), 2U);
  EXPECT_EQ(padded("µs", 4, false), "  µs");
  EXPECT_EQ(padded("µs", 4, true), "µs  ");
}

TEST(NumberText, WrappedText_FitsTheTerminal) {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word" + std::to_string(i) + " ";
  const std::string text = wrapped(words, "    ");
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 110U);
    begin = end + 1;
  }
  EXPECT_EQ(begin, text.size());
  for (int i = 0; i < 60; ++i) EXPECT_NE(text.find("word" + std::to_string(i)), std::string::npos);
}

TEST(NumberText, WrappedText_KeepsARepeatCommandOnOneLine) {
  const std::string command = "attnscope run --again 1 --db '" + std::string(120, 'x') + "  y z'";
  EXPECT_NE(wrapped("to repeat: " + command, "  ").find("\n  " + command + "\n"),
            std::string::npos);
  EXPECT_NE(wrapped("attnscope run --again last --db a.db --quiet; to repeat: " + command, "  ")
                .find("quiet; to repeat:\n  " + command + "\n"),
            std::string::npos)
      << "only the command that repeats the run starts a new line";
}

}  // namespace
}  // namespace attnscope::report
