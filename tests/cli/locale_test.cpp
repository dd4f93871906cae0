// SPDX-License-Identifier: Apache-2.0
//
// The program under a locale with a decimal comma: every export is the same, byte for byte.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/store/store.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::HasSubstr;

void fill_two_lengths(const Program& program) {
  auto store = Store::open(program.path("runs.db"), Store::Mode::read_write);
  ASSERT_TRUE(store) << store.error().message;
  NewRun start;
  start.sweep_name = "synthetic";
  start.device = "test processor";
  start.provenance = "{}";
  start.heats_planned = 2;
  const auto run = store->begin_run(start);
  ASSERT_TRUE(run) << run.error().message;
  for (const std::int64_t length : {64, 2048}) {
    HeatResult heat;
    heat.heat_index = length == 64 ? 0 : 1;
    heat.point.sequence_tokens = length;
    heat.point.threads = 1;
    for (const char* id : {"dense", "segment"}) {
      Cell cell;
      cell.contender = {"full", id, std::nullopt, id, "{}"};
      cell.batch = 1;
      for (int round = 0; round < 6; ++round)
        cell.samples.push_back({.process = round / 3,
                                .placement = round / 3,
                                .round = round,
                                .time_ns = 1234567.891 * (1 + 0.01 * round)});
      cell.relative_error = 1.5e-7;
      cell.error_bound = 2e-6;
      cell.memory.requested_bytes = 1'500'000;
      heat.cells.push_back(cell);
    }
    ASSERT_TRUE(store->add_heat(*run, heat));
  }
  ASSERT_TRUE(store->finish_run(*run, RunStatus::done));
}

/// Settings of a German locale built in the program's folder; empty where none can be built.
std::vector<std::string> german(const Program& program) {
  const std::string locale = program.path("de_DE.UTF-8").string();
  const std::string folder = program.path("").string();
  const std::string build = "localedef -i de_DE -f UTF-8 '" + locale + "' >/dev/null 2>&1";
  const std::string works = "[ \"$(LOCPATH='" + folder +
                            "' LC_ALL=de_DE.UTF-8 /usr/bin/printf %.1f 1,5 2>/dev/null)\" = 1,5 ]";
  if (std::system((build + " && " + works).c_str()) != 0) return {};
  return {"LOCPATH=" + folder, "LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8", "LANGUAGE=de"};
}

class Locale : public ::testing::Test {
 protected:
  void SetUp() override {
    german_ = german(program_);
    if (german_.empty()) GTEST_SKIP() << "no de_DE locale can be built here (package locales)";
    fill_two_lengths(program_);
  }

  /// What the program prints, or writes into `file`, in both locales.
  void expect_same(const std::vector<std::string>& arguments, const std::string& file = {}) const {
    const auto product = [&](const std::vector<std::string>& locale) {
      const Outcome outcome = program_.run(arguments, locale);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      return file.empty() ? outcome.out : program_.read(file);
    };
    const std::string plain = product({"LC_ALL=C.UTF-8"});
    EXPECT_FALSE(plain.empty());
    EXPECT_EQ(product(german_), plain);
  }

  Program program_;
  std::vector<std::string> german_;
};

TEST_F(Locale, TablesAreTheSameWithADecimalComma) {
  for (const char* format : {"text", "markdown", "csv", "latex", "json"})
    expect_same(
        {"table", "last", "--db", "runs.db", "--baseline", "full/dense", "--format", format});
}

TEST_F(Locale, ListsAreTheSameWithADecimalComma) {
  expect_same({"list", "sweeps"});
  expect_same({"list", "runs", "--db", "runs.db"});
  expect_same({"list", "patterns", "--json"});
}

#ifdef ATTNSCOPE_HAS_GUI
TEST_F(Locale, FiguresAreTheSameWithADecimalComma) {
  for (const char* y : {"time", "memory"})
    expect_same({"plot", "last", "--db", "runs.db", "-o", "f.svg", "--y", y, "--font-pt", "8.5"},
                "f.svg");
  expect_same({"mask", "sparse", "--window", "4", "-o", "m.svg"}, "m.svg");
}

TEST_F(Locale, RefusesOptionsWithADecimalComma) {
  const auto refused = [&](const std::string& option, const std::string& value) {
    EXPECT_THAT(
        program_.run({"plot", "last", "--db", "runs.db", "-o", "f.svg", option, value}, german_),
        FailsWith(value))
        << option;
  };
  refused("--width", "84,5");
  refused("--font-pt", "8,5");
}
#endif

TEST_F(Locale, RefusesASweepWithADecimalComma) {
  program_.write("s.json", R"({"contenders": ["full/dense"], "sequence_tokens": [64],
      "stop": {"relative_interval": 0,02}})");
  EXPECT_THAT(program_.run({"run", "s.json", "--db", "runs.db"}, german_), FailsWith("s.json"));
}

}  // namespace
}  // namespace attnscope::testing
