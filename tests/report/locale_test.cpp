// SPDX-License-Identifier: Apache-2.0
//
// A decimal comma breaks CSV, JSON and LaTeX: what a program's locale is changes no byte of them.
#include <gtest/gtest.h>

#include <locale>

#include "engine/sweep/sweep.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

struct GermanNumbers : std::numpunct<char> {
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

class InGerman {
 public:
  InGerman() : before_(std::locale::global(std::locale(std::locale(), new GermanNumbers))) {}
  InGerman(const InGerman&) = delete;
  InGerman& operator=(const InGerman&) = delete;
  ~InGerman() { std::locale::global(before_); }

 private:
  std::locale before_;
};

TEST(Locale, TablesAreTheSameInAllFormats) {
  const test::MeasuredRun run;
  for (const auto format : {TableFormat::text, TableFormat::markdown, TableFormat::csv,
                            TableFormat::latex, TableFormat::json}) {
    const std::string plain = write_table(run.table("full/dense"), format);
    const InGerman numbers;
    EXPECT_EQ(write_table(run.table("full/dense"), format), plain);
  }
}

TEST(Locale, SweepsAreReadTheSame) {
  const auto sweep_with = [](const std::string& interval) {
    return parse_sweep(R"({"contenders": ["full/dense"], "sequence_tokens": [64],
                           "stop": {"relative_interval": )" +
                           interval + "}}",
                       "sweep.json");
  };
  const InGerman numbers;
  const auto sweep = sweep_with("0.02");
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_EQ(sweep->heats[0].stop.relative_interval, 0.02);
  EXPECT_FALSE(sweep_with("0,02"));
  EXPECT_FALSE(sweep_with("\"0,02\""));
}

}  // namespace
}  // namespace attnscope::report
