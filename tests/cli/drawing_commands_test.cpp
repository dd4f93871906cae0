// SPDX-License-Identifier: Apache-2.0
//
// plot and mask: every format, without a display; wrong use in one sentence.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "engine/store/store.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Mask : public ProgramTest {};
class PlotTraining : public ProgramTest {};

Cell measured(const Contender& contender, double time_ns) {
  Cell cell;
  cell.contender = contender;
  cell.batch = 1;
  for (int round = 0; round < 6; ++round) {
    Sample sample;
    sample.placement = round / 3;
    sample.round = round % 3;
    sample.time_ns = time_ns * (1 + 0.01 * round);
    cell.samples.push_back(sample);
  }
  cell.relative_error = 1e-7;
  cell.error_bound = 2e-6;
  cell.memory.requested_bytes = static_cast<std::int64_t>(time_ns);
  cell.settled = true;
  return cell;
}

/// A finished run of two contenders at three lengths, the last of which did not fit for one.
class StoredRun : public ProgramTest {
 protected:
  void SetUp() override;
  /// Runs a command with the database of the run.
  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments) const {
    return program.run(joined(arguments, {"--db", "runs.db"}));
  }
};
class Table : public StoredRun {};
class Plot : public StoredRun {};

void StoredRun::SetUp() {
  auto store = Store::open(program.path("runs.db"), Store::Mode::read_write);
  ASSERT_TRUE(store) << store.error().message;
  NewRun start;
  start.sweep_name = "synthetic";
  start.device = "test processor";
  start.command_line = "attnscope run synthetic.json";
  start.provenance = R"({"driver": {"version": "0.1.0", "commit": "0123456789abcdef"}})";
  start.heats_planned = 3;
  auto run = store->begin_run(start);
  ASSERT_TRUE(run) << run.error().message;
  const Contender dense{"full", "dense", std::nullopt, "Full", "{}"};
  const Contender segment{"sparse", "segment", Window::of(4), "Sparse", "{}"};
  int index = 0;
  for (const std::int64_t length : {64, 128, 256}) {
    HeatResult heat;
    heat.heat_index = index++;
    heat.point.sequence_tokens = length;
    heat.point.threads = 1;
    heat.cells = {measured(dense, 100.0 * static_cast<double>(length * length)),
                  measured(segment, 500.0 * static_cast<double>(length))};
    if (length == 256) {
      heat.cells[0].status = CellStatus::oom;
      heat.cells[0].samples.clear();
      heat.cells[0].reason = "asked for 2 GB, 1 GB free";
    }
    const Status added = store->add_heat(*run, heat);
    ASSERT_TRUE(added) << added.error().message;
  }
  ASSERT_TRUE(store->finish_run(*run, RunStatus::done));
}

TEST_F(Table, PivotTableHasAColumnForEachValue) {
  const Outcome by_length =
      run({"table", "last", "--columns", "length", "--baseline", "full/dense"});
  EXPECT_EQ(by_length.exit_code, 0) << by_length.err;
  EXPECT_THAT(by_length.out, HasSubstr("128 tokens  256 tokens\n  Full (baseline)"));
  EXPECT_THAT(by_length.out, HasSubstr("\n  oom: asked for 2 GB, 1 GB free (Full, 256 tokens)"));
  // Lengths along rows leave the columns to the contenders.
  EXPECT_THAT(
      run({"table", "last", "--rows", "length", "--cells", "time,memory", "--format", "latex"}),
      Prints("Length & Unit & \\multicolumn{1}{c}{Full}"));
}

TEST_F(Table, RefusesUnknownKeysOfAPivotTable) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& word) {
    EXPECT_THAT(run(joined({"table", "last"}, arguments)), FailsWith(word));
  };
  refused({"--rows", "colour"}, "--rows: there is no key 'colour'");
  refused({"--columns", "heds"}, "did you mean 'heads'?");
  refused({"--cells", "time,colour"}, "--cells: there is no quantity 'colour'");
  refused({"--rows", "dtype", "--columns", "dtype"}, "both 'dtype'");
  refused({"--rows", "length", "--growth"}, "--growth");
  refused({"--cells", "time,ratio"}, "give --baseline CONTENDER");
}

TEST_F(Plot, NeverReplacesItsDatabase) {
  std::filesystem::copy_file(program.path("runs.db"), program.path("runs.svg"));
  std::filesystem::copy_file(program.path("runs.db"), program.path("runs.csv"));
  const std::string before = program.read("runs.svg");
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{"plot", "last", "--db", "runs.svg", "-o", "runs.svg"},
        {"plot", "last", "--db", "runs.csv", "-o", "runs.pdf", "--csv"}}) {
    EXPECT_THAT(program.run(arguments), FailsWith("is an input of this command"));
  }
  EXPECT_EQ(program.read("runs.svg"), before);
}

TEST_F(Plot, WritesEachFormatWithoutADisplay) {
  for (const char* y : {"time", "memory"}) {
    for (const auto& [file, start] :
         {std::pair{"f.pdf", "%PDF"}, {"f.svg", "<?xml"}, {"f.png", "\x89PNG"}}) {
      const Outcome outcome = run({"plot", "last", "-o", file, "--y", y});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_EQ(outcome.out, "");
      EXPECT_THAT(program.read(file), StartsWith(start));
    }
  }
}

TEST_F(Plot, WritesAPdfToStandardOutput) {
  const Outcome piped = run({"plot", "last", "-o", "-"});
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_THAT(piped.out, StartsWith("%PDF"));
  EXPECT_EQ(run({"plot", "last", "-o", "/dev/null"}).exit_code, 0);
  EXPECT_THAT(run({"plot", "last", "-o", "-", "--csv"}), FailsWith("remove --csv"));
}

TEST_F(Plot, MarksCrossoversOfTimesAgainstABaseline) {
  const auto plot = [&](const std::vector<std::string>& options) {
    return run(joined({"plot", "last", "-o", "f.svg", "--crossovers"}, options));
  };
  EXPECT_EQ(plot({"--baseline", "full/dense"}).exit_code, 0);
  EXPECT_THAT(plot({}), FailsWith("--baseline"));
  EXPECT_EQ(plot({"--baseline", "full/dense", "--y", "time,memory"}).exit_code, 0);
  EXPECT_EQ(plot({"--baseline", "full/dense", "--facet", "device"}).exit_code, 0);
  EXPECT_THAT(plot({"--baseline", "full/dense", "--y", "memory"}), FailsWith("--y time"));
}

TEST_F(Plot, AppliesWidthFontSizeAndTheme) {
  const auto size_of = [&](const std::vector<std::string>& options) {
    const Outcome outcome = run(joined({"plot", "last", "-o", "f.svg"}, options));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return program.read("f.svg");
  };
  EXPECT_THAT(size_of({"--width", "acl"}), HasSubstr("width=\"77"));
  EXPECT_THAT(size_of({"--width", "100", "--font-pt", "7"}), HasSubstr("width=\"100"));
  EXPECT_NE(size_of({"--theme", "dark"}), size_of({}));
}

TEST_F(Plot, DrawsOnePanelPerFacetAndOneLegend) {
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const Outcome outcome =
      run({"plot", "last", "-o", "f.svg", "--facet", "implementation", "--caption"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string svg = program.read("f.svg");
  EXPECT_EQ(count(svg, ">dense<"), 1);
  EXPECT_EQ(count(svg, ">segment<"), 1);
  EXPECT_EQ(count(svg, ">Time per document (ms)<"), 2);
  EXPECT_EQ(count(svg, ">Full<"), 1);
  EXPECT_EQ(count(svg, ">Sparse<"), 1);
  EXPECT_EQ(count(svg, ">oom<"), 1);
  for (const char* file : {"f.pdf", "f.png"}) {
    EXPECT_EQ(run({"plot", "last", "-o", file, "--x", "window", "--only", "implementation=segment",
                   "--facet", "sequence_tokens"})
                  .exit_code,
              0);
  }
}

TEST_F(Plot, FiguresStateTheirRunAndHowToRepeatIt) {
  const auto store = Store::open(program.path("runs.db"), Store::Mode::read_only);
  ASSERT_TRUE(store) << store.error().message;
  const auto stored = store->find_run("last");
  ASSERT_TRUE(stored) << stored.error().message;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--facet", "implementation"}, {"--y", "time,memory"}}) {
    ASSERT_EQ(run(joined({"plot", "last", "-o", "f.svg"}, more)).exit_code, 0);
    const std::string svg = program.read("f.svg");
    EXPECT_THAT(svg, HasSubstr("attnscope run synthetic.json"));
    EXPECT_THAT(svg, HasSubstr("commit 0123456789"));
    EXPECT_THAT(svg, HasSubstr("attnscope run --again " + stored->id.uuid));
  }
}

TEST_F(Plot, RefusesWrongUseInOneSentence) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& word) {
    EXPECT_THAT(run(arguments), Refuses(word));
  };
  refused({"plot", "last", "-o", "f.bmp"}, ".pdf");
  refused({"plot", "last", "-o", "/nowhere/f.pdf"}, "/nowhere");
  refused({"plot", "last", "-o", "f.pdf", "--x", "colour"}, "colour");
  refused({"plot", "last", "-o", "f.pdf", "--y", "ratio"}, "baseline");
  refused({"plot", "last", "-o", "f.pdf", "--width", "wide"}, "lncs");
  refused({"plot", "last", "-o", "f.pdf", "--width", "-5"}, "-5");
  refused({"plot", "last", "-o", "f.pdf", "--theme", "pink"}, "pink");
  refused({"plot", "last", "-o", "f.pdf", "--only", "lenght=64"}, "lenght");
  refused({"plot", "last", "-o", "f.pdf", "--facet", "colour"}, "colour");
  refused({"plot", "last", "-o", "f.pdf", "--facet", "sequence_tokens"},
          "is already on the x axis");
  refused({"plot", "last", "-o", "f.gif", "--facet", "dtype"}, ".pdf");
  refused({"plot", "last", "-o", "f.pdf", "--range-x=-1:5"}, "--range-x: starts at -1");
  refused({"plot", "last", "-o", "f.pdf", "--y", "stages"}, "is for re-rankers");
  refused({"plot", "last", "-o", "f.pdf", "--y", "stages", "--scale-y", "log2"},
          "remove --scale-x and --scale-y");
  refused({"plot", "last", "-o", "f.png", "--dpi", "1e-308"}, "dots per inch");
  refused({"plot", "last", "-o", "f.pdf", "--baseline", ""}, "--baseline is empty");
}

TEST_F(Mask, WritesEachStyleAndFormatWithoutADisplay) {
  for (const char* style : {"schematic", "true"}) {
    for (const auto& [file, start] :
         {std::pair{"m.pdf", "%PDF"}, {"m.svg", "<?xml"}, {"m.png", "\x89PNG"}}) {
      const Outcome outcome = program.run({"mask", "sparse", "--window", "4", "--query", "11",
                                           "--document", "200", "--style", style, "-o", file});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_THAT(program.read(file), StartsWith(start));
    }
  }
}

/// A folder as `train` leaves it, of so many steps; the fourth was validated.
void write_training(const Program& program, const std::string& folder, int steps) {
  std::filesystem::create_directory(program.path(folder));
  std::string lines = "step\tloss\tlearning_rate\tgradient_norm\ttokens\tseconds\tnDCG@10\n";
  for (int step = 1; step <= steps; ++step) {
    lines +=
        fmt::format("{}\t{}\t0.001\t1\t64\t0.1\t{}\n", step, 8.0 / step, step == 4 ? "0.5" : "");
  }
  program.write(folder + "/training.tsv", lines);
}

TEST_F(PlotTraining, DrawsTheCurvesOfSeveralTrainings) {
  write_training(program, "full", 8);
  write_training(program, "sparse-4", 6);
  const Outcome outcome =
      program.run({"plot", "--training", "full", "sparse-4", "-o", "curves.svg", "--csv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string svg = program.read("curves.svg");
  for (const char* word : {"2 trainings", "Loss", "nDCG@10", "sparse-4", "Step", "best"})
    EXPECT_THAT(svg, HasSubstr(word));
  const std::string csv = program.read("curves.csv");
  EXPECT_THAT(csv, HasSubstr("\nLoss,Loss,sparse-4,2,4,"));
  EXPECT_THAT(csv, HasSubstr("\nValidation,nDCG@10,full,4,0.5,"));
  for (const char* file : {"one.pdf", "one.png"}) {
    EXPECT_EQ(program
                  .run({"plot", "--training", "full/training.tsv", "-o", file, "--scale-y", "log10",
                        "--theme", "dark"})
                  .exit_code,
              0)
        << file;
  }
}

TEST_F(PlotTraining, RefusesWrongUseInOneSentence) {
  write_training(program, "full", 8);
  write_training(program, "new", 0);
  std::filesystem::create_directory(program.path("other"));
  program.write("bad.tsv", "step\tloss\n1\t2\n");
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& word) {
    EXPECT_THAT(program.run(joined({"plot", "--training"}, arguments)), Refuses(word));
  };
  refused({"full", "gone", "-o", "a.svg"}, "gone");
  refused({"other", "-o", "a.svg"}, "has no training.tsv");
  refused({"bad.tsv", "-o", "a.svg"}, "is not a training curve");
  refused({"new", "-o", "a.svg"}, "nothing to draw");
  refused({"full", "-o", "a.svg", "--y", "time"}, "--y");
  refused({"full", "-o", "a.svg", "--caption"}, "--caption");
  refused({"full", "-o", "a.svg", "--scale-y", "log10", "--range-y", "0:4"}, "starts at 0");
  refused({"full", "-o", "full/training.tsv"}, ".pdf");
}

TEST_F(Mask, FilesStateProgramAndCommand) {
  ASSERT_EQ(program.run({"mask", "sparse", "--window", "4", "-o", "m.svg"}).exit_code, 0);
  const std::string svg = program.read("m.svg");
  EXPECT_THAT(svg, HasSubstr("Drawn by AttnScope "));
  EXPECT_THAT(svg, HasSubstr("commit "));
  EXPECT_THAT(svg, HasSubstr("attnscope mask sparse --window 4 -o m.svg"));
}

TEST_F(Mask, NeverReplacesItsPattern) {
  const std::string pattern = R"({"name": "mine", "attends": {"cls": {"query": "whole"}}})";
  program.write("mine.json", pattern);
  for (const std::string file : {"mine.svg", "mine.csv"})
    std::filesystem::create_hard_link(program.path("mine.json"), program.path(file));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"mask", "mine.json", "-o", "./mine.svg"},
        {"mask", "mine.json", "-o", "mine.pdf", "--csv"}}) {
    EXPECT_THAT(program.run(arguments), FailsWith("is an input of this command"));
  }
  EXPECT_EQ(program.read("mine.json"), pattern);
  EXPECT_TRUE(std::filesystem::equivalent(program.path("mine.json"), program.path("mine.svg")));
}

TEST_F(Mask, RefusesWrongUseInOneSentence) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& word) {
    EXPECT_THAT(program.run(arguments), Refuses(word));
  };
  refused({"mask", "sparse", "-o", "m.png"}, "--window");
  refused({"mask", "sparse", "--window", "-1", "-o", "m.png"}, "-1");
  refused({"mask", "sparse", "--window", "4", "--query", "-1", "-o", "m.png"}, "--query");
  refused({"mask", "sparse", "--window", "4", "--style", "round", "-o", "m.png"}, "round");
  refused({"mask", "full", "-o", "m.gif"}, ".pdf");
  refused({"mask", "full", "--document", "9000000000000000000", "-o", "m.png"}, "token");
}

}  // namespace
}  // namespace attnscope::testing
