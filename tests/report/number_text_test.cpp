// SPDX-License-Identifier: Apache-2.0
#include "engine/report/number_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "engine/report/table.h"

namespace attnscope::report {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(NumberText, NumbersHaveThreeDigitsAndAFittingUnit) {
  for (const auto& [value, text] :
       {std::pair(2.414, "2.41"), std::pair(2.4, "2.40"), std::pair(12.64, "12.6"),
        std::pair(368.4, "368"), std::pair(12345.0, "12345"), std::pair(0.01234, "0.0123"),
        std::pair(0.0, "0"), std::pair(9.996, "10.0"), std::pair(99.96, "100"),
        std::pair(0.9999, "1.00")})
    EXPECT_EQ(three_digits(value), text);
  for (const auto& [ns, text] :
       {std::pair(2.41e6, "2.41 ms"), std::pair(368e3, "368 µs"), std::pair(12.0, "12.0 ns"),
        std::pair(1.2e9, "1.20 s"), std::pair(999.96e3, "1.00 ms"), std::pair(0.0, "0 ns"),
        std::pair(nan, "–")})
    EXPECT_EQ(format_time(ns), text);
  for (const auto& [bytes, text] : {std::pair(12.6e6, "12.6 MB"), std::pair(1608e6, "1.61 GB"),
                                    std::pair(512.0, "512 B"), std::pair(0.0, "0 B")})
    EXPECT_EQ(format_bytes(bytes), text);
  for (const auto& [ratio, text] :
       {std::pair(0.57, "-43 %"), std::pair(2.7, "+170 %"), std::pair(1.023, "+2.3 %"),
        std::pair(0.98, "-2.0 %"), std::pair(0.0123, "-98.8 %"), std::pair(1.0, "0 %"),
        std::pair(0.99999, "0 %"), std::pair(nan, "–")})
    EXPECT_EQ(format_relative(ratio), text);
  for (const auto& [factor, text] :
       {std::pair(1.953, "1.95x"), std::pair(292.7, "293x"), std::pair(nan, "–")})
    EXPECT_EQ(format_times(factor), text);
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
