// SPDX-License-Identifier: Apache-2.0
//
// table, plot and mask: every format, without a display and with a decimal comma; wrong use in one
// sentence. results/tools/publish: tables and figures of a published run, rebuilt from the run.

#include <fstream>
#include <iterator>
#include <map>

#include "base/gzip.h"
#include "engine/store/store.h"
#include "tests/base/packed.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::StartsWith;

Cell cell_of(const Contender& contender, double time_ns) {
  Cell cell;
  cell.contender = contender;
  cell.batch = 1;
  for (int round = 0; round < 6; ++round) {
    cell.samples.push_back(
        {.placement = round / 3, .round = round % 3, .time_ns = time_ns * (1 + 0.01 * round)});
  }
  cell.relative_error = 1e-7;
  cell.error_bound = 2e-6;
  cell.memory.requested_bytes = static_cast<std::int64_t>(time_ns);
  cell.settled = true;
  return cell;
}

/// A finished run of two contenders at three lengths, the last of which did not fit for one.
class SyntheticRun : public ProgramTest {
 protected:
  void SetUp() override;
  /// Runs a command with the database of the run.
  [[nodiscard]] Outcome run(const std::string& arguments,
                            const std::vector<std::string>& environment = {}) const {
    return program.run(arguments + " --db runs.db", environment);
  }
};
class Table : public SyntheticRun {};

void SyntheticRun::SetUp() {
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
    heat.cells = {cell_of(dense, 100.0 * static_cast<double>(length * length)),
                  cell_of(segment, 500.0 * static_cast<double>(length))};
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
  EXPECT_THAT(run("table last --columns length --baseline full/dense"),
              Prints("128 tokens  256 tokens\n  Full (baseline)",
                     "\n  oom: asked for 2 GB, 1 GB free (Full, 256 tokens)"));
  // Lengths along rows leave the columns to the contenders.
  EXPECT_THAT(run("table last --rows length --cells time,memory --format latex"),
              Prints("Length & Unit & \\multicolumn{1}{c}{Full}"));
}

TEST_F(Table, RefusesUnknownKeysOfAPivotTable) {
  const auto refused = [&](const std::string& arguments, const std::string& word) {
    EXPECT_THAT(run("table last " + arguments), FailsWith(word));
  };
  refused("--rows colour", "--rows: there is no key 'colour'");
  refused("--columns heds", "did you mean 'heads'?");
  refused("--cells time,colour", "--cells: there is no quantity 'colour'");
  refused("--rows dtype --columns dtype", "both 'dtype'");
  refused("--rows length --growth", "--growth");
  refused("--cells time,ratio", "give --baseline CONTENDER");
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

class Locale : public SyntheticRun {
 protected:
  void SetUp() override {
    german_ = german(program);
    if (german_.empty()) GTEST_SKIP() << "no de_DE locale can be built here (package locales)";
    SyntheticRun::SetUp();
  }

  /// Expects the same output, or the same contents of `file`, in both locales.
  void expect_same(const std::string& arguments, const std::string& file = {}) const {
    const auto product = [&](const std::vector<std::string>& locale) {
      const Outcome outcome = run(arguments, locale);
      EXPECT_THAT(outcome, Succeeds());
      return file.empty() ? outcome.out : program.read(file);
    };
    const std::string plain = product({"LC_ALL=C.UTF-8"});
    EXPECT_FALSE(plain.empty());
    EXPECT_EQ(product(german_), plain);
  }

  std::vector<std::string> german_;
};

TEST_F(Locale, OutputIsTheSameWithADecimalComma) {
  for (const std::string format : {"text", "markdown", "csv", "latex", "json"})
    expect_same("table last --baseline full/dense --format " + format);
  expect_same("list runs");
  const auto listed = [&](const std::string& what) {
    EXPECT_EQ(program.run("list " + what, german_).out,
              program.run("list " + what, {"LC_ALL=C.UTF-8"}).out);
  };
  listed("sweeps");
  listed("patterns --json");
  program.write("s.json", R"({"contenders": ["full/dense"], "sequence_tokens": [64],
      "stop": {"relative_interval": 0,02}})");
  EXPECT_THAT(run("run s.json", german_), FailsWith("s.json"));
}

class Publish : public ProgramTest {};

const fs::path source = ATTNSCOPE_SOURCE_DIR;

/// Runs the script in the program's folder; its output goes to "out" and "err" there.
int publish(const Program& program, const std::string& arguments) {
  return program.shell(fmt::format("ATTNSCOPE='{}' '{}' {} > out 2> err", ATTNSCOPE_PROGRAM,
                                   (source / "results/tools/publish").string(), arguments));
}

std::map<std::string, std::string> files_of(const Program& program, const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& file : fs::directory_iterator(program.path(folder))) {
    files[file.path().filename()] = program.read(folder + "/" + file.path().filename().string());
  }
  return files;
}

std::string packed_run() {
  std::ifstream file(small_run, std::ios::binary);
  return tests::packed(std::string{std::istreambuf_iterator<char>(file), {}});
}

/// A folder with the run of the store's tests.
void make_page(const Program& program, const std::string& outputs) {
  program.write("page/run.attn.gz", packed_run());
  program.write("page/outputs", outputs);
}

TEST_F(Publish, WritesTheSameOutputsEachTime) {
  make_page(program,
            "# FILE COMMAND ARGUMENTS\n\n"
            "table.md table --format markdown --baseline full/sdpa\n"
            "growth.csv table --format csv --growth\n"
            "times.md times segment --only sequence_tokens=128\n");
  ASSERT_EQ(publish(program, "page"), 0) << program.read("err");
  const auto first = files_of(program, "page");
  EXPECT_EQ(first.size(), 5U);
  EXPECT_THAT(first.at("table.md"), HasSubstr("| vs base |"));
  EXPECT_THAT(first.at("growth.csv"), HasSubstr("growth_high"));
  EXPECT_THAT(first.at("times.md"), HasSubstr("| 128 tokens | sparse/segment, w = 4 |"));
  EXPECT_THAT(first.at("times.md"), HasSubstr("`full/sdpa` takes"));
  EXPECT_EQ(first.at("run.attn.gz"), packed_run());
  ASSERT_EQ(publish(program, "page"), 0);
  EXPECT_EQ(files_of(program, "page"), first);
}

TEST_F(Publish, AGivenRunReplacesTheOldRun) {
  make_page(program, "table.md table --format markdown\n");
  fs::copy_file(small_run, program.path("elsewhere.attn"));
  fs::rename(program.path("page/run.attn.gz"), program.path("elsewhere.attn.gz"));
  for (const std::string file : {"elsewhere.attn", "elsewhere.attn.gz"}) {
    program.write("page/run.attn.gz", "an older one");
    ASSERT_EQ(publish(program, file + " page"), 0) << program.read("err");
    EXPECT_TRUE(program.read("page/run.attn.gz").starts_with(gzip_mark));
    EXPECT_THAT(program.read("page/table.md"), HasSubstr("| 128 tokens, batch 1 |"));
  }
  EXPECT_EQ(program.read("page/run.attn.gz"), program.read("elsewhere.attn.gz"));
}

TEST_F(Publish, WrongUseKeepsTheOldFiles) {
  make_page(program, "table.md draw\n");
  program.write("page/table.md", "the old one");
  fs::create_directory(program.path("empty"));
  const auto refused = [&](const std::string& arguments, const std::string& word) {
    EXPECT_EQ(publish(program, arguments), 2);
    const std::string message = program.read("err");
    EXPECT_EQ(message.find('\n'), message.size() - 1) << message;
    EXPECT_THAT(message, HasSubstr(word));
  };
  refused("page", "no command 'draw'");
  refused("nowhere", "no folder nowhere");
  refused("empty", "no run.attn.gz");
  refused("", "expected [SWEEP, FILE.attn or FILE.attn.gz] FOLDER");
  refused("elsewhere.attn page", "no file elsewhere.attn");
  EXPECT_EQ(program.read("page/table.md"), "the old one");
  for (const std::string file : {"run.attn.gz", "outputs", "./outputs", "README.md"}) {
    program.write("page/outputs", file + " table --format markdown\n");
    refused("page", file + " would be overwritten");
    EXPECT_EQ(program.read("page/run.attn.gz"), packed_run());
  }
}

TEST_F(Publish, EveryPublishedFolderHasItsOutputs) {
  int folders = 0;
  for (const auto& folder : fs::directory_iterator(source / "results")) {
    if (!fs::exists(folder.path() / "run.attn.gz")) continue;
    ++folders;
    std::ifstream outputs(folder.path() / "outputs");
    ASSERT_TRUE(outputs) << folder.path();
    EXPECT_TRUE(fs::exists(folder.path() / "README.md")) << folder.path();
    for (std::string line; std::getline(outputs, line);) {
      if (line.empty() || line.front() == '#') continue;
      const std::string file = line.substr(0, line.find(' '));
      EXPECT_TRUE(fs::exists(folder.path() / file)) << folder.path() / file;
    }
  }
  EXPECT_GE(folders, 11);
}

#ifdef ATTNSCOPE_HAS_GUI
class Mask : public ProgramTest {};
class Plot : public SyntheticRun {};
class PlotTraining : public ProgramTest {};

TEST_F(Locale, FiguresAreTheSameWithADecimalComma) {
  for (const std::string y : {"time", "memory"})
    expect_same("plot last -o f.svg --font-pt 8.5 --y " + y, "f.svg");
  const std::string mask = "mask sparse --window 4 -o m.svg";
  ASSERT_THAT(program.run(mask, {"LC_ALL=C.UTF-8"}), Succeeds());
  const std::string plain = program.read("m.svg");
  ASSERT_THAT(program.run(mask, german_), Succeeds());
  EXPECT_EQ(program.read("m.svg"), plain);
  EXPECT_THAT(run("plot last -o f.svg --width 84,5", german_), FailsWith("84,5"));
  EXPECT_THAT(run("plot last -o f.svg --font-pt 8,5", german_), FailsWith("8,5"));
}

TEST_F(Plot, NeverReplacesItsDatabase) {
  fs::copy_file(program.path("runs.db"), program.path("runs.svg"));
  fs::copy_file(program.path("runs.db"), program.path("runs.csv"));
  const std::string before = program.read("runs.svg");
  EXPECT_THAT(program.run("plot last --db runs.svg -o runs.svg"),
              FailsWith("is an input of this command"));
  EXPECT_THAT(program.run("plot last --db runs.csv -o runs.pdf --csv"),
              FailsWith("is an input of this command"));
  EXPECT_EQ(program.read("runs.svg"), before);
}

TEST_F(Plot, WritesEachFormatWithoutADisplay) {
  for (const std::string y : {"time", "memory"}) {
    for (const auto& [file, start] :
         {std::pair{"f.pdf", "%PDF"}, {"f.svg", "<?xml"}, {"f.png", "\x89PNG"}}) {
      const Outcome outcome = run(fmt::format("plot last -o {} --y {}", file, y));
      EXPECT_THAT(outcome, Succeeds());
      EXPECT_EQ(outcome.out, "");
      EXPECT_THAT(program.read(file), StartsWith(start));
    }
  }
  EXPECT_THAT(run("plot last -o -").out, StartsWith("%PDF"));
  EXPECT_THAT(run("plot last -o /dev/null"), Succeeds());
  EXPECT_THAT(run("plot last -o - --csv"), FailsWith("remove --csv"));
}

TEST_F(Plot, MarksCrossoversOfTimesAgainstABaseline) {
  const auto plot = [&](const std::string& options) {
    return run("plot last -o f.svg --crossovers " + options);
  };
  EXPECT_THAT(plot(""), FailsWith("--baseline"));
  EXPECT_THAT(plot("--baseline full/dense --y memory"), FailsWith("--y time"));
  for (const std::string options : {"", " --y time,memory", " --facet device"})
    EXPECT_THAT(plot("--baseline full/dense" + options), Succeeds());
}

TEST_F(Plot, AppliesWidthFontSizeAndTheme) {
  const auto drawn = [&](const std::string& options) {
    EXPECT_THAT(run("plot last -o f.svg " + options), Succeeds());
    return program.read("f.svg");
  };
  EXPECT_THAT(drawn("--width acl"), HasSubstr("width=\"77"));
  EXPECT_THAT(drawn("--width 100 --font-pt 7"), HasSubstr("width=\"100"));
  EXPECT_NE(drawn("--theme dark"), drawn(""));
}

TEST_F(Plot, DrawsOnePanelPerFacetAndOneLegend) {
  ASSERT_THAT(run("plot last -o f.svg --facet implementation --caption"), Succeeds());
  const std::string svg = program.read("f.svg");
  for (const auto& [text, times] : {std::pair{">dense<", 1},
                                    {">segment<", 1},
                                    {">Time per document (ms)<", 2},
                                    {">Full<", 1},
                                    {">Sparse<", 1},
                                    {">oom<", 1}}) {
    int found = 0;
    for (auto at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) ++found;
    EXPECT_EQ(found, times) << text;
  }
  for (const std::string file : {"f.pdf", "f.png"}) {
    EXPECT_THAT(run("plot last --x window --only implementation=segment --facet sequence_tokens "
                    "-o " +
                    file),
                Succeeds());
  }
}

TEST_F(Plot, FiguresStateTheirRunAndHowToRepeatIt) {
  const std::string uuid = json::parse(run("list runs --json").out).at(0).at("uuid");
  for (const std::string more : {"", "--facet implementation", "--y time,memory"}) {
    ASSERT_THAT(run("plot last -o f.svg " + more), Succeeds());
    EXPECT_THAT(program.read("f.svg"),
                AllOf(HasSubstr("attnscope run synthetic.json"), HasSubstr("commit 0123456789"),
                      HasSubstr("attnscope run --again " + uuid)));
  }
}

TEST_F(Plot, RefusesWrongUseInOneSentence) {
  const auto refused = [&](const std::string& arguments, const std::string& word) {
    EXPECT_THAT(run("plot last " + arguments), Refuses(word));
  };
  refused("-o f.bmp", ".pdf");
  refused("-o /nowhere/f.pdf", "/nowhere");
  refused("-o f.pdf --x colour", "colour");
  refused("-o f.pdf --y ratio", "baseline");
  refused("-o f.pdf --width wide", "lncs");
  refused("-o f.pdf --width -5", "-5");
  refused("-o f.pdf --theme pink", "pink");
  refused("-o f.pdf --only lenght=64", "lenght");
  refused("-o f.pdf --facet colour", "colour");
  refused("-o f.pdf --facet sequence_tokens", "is already on the x axis");
  refused("-o f.gif --facet dtype", ".pdf");
  refused("-o f.pdf --range-x=-1:5", "--range-x: starts at -1");
  refused("-o f.pdf --y stages", "is for re-rankers");
  refused("-o f.pdf --y stages --scale-y log2", "remove --scale-x and --scale-y");
  refused("-o f.png --dpi 1e-308", "dots per inch");
  refused("-o f.pdf --baseline ''", "--baseline is empty");
}

/// A folder as `train` leaves it, of so many steps; the fourth was validated.
void write_training(const Program& program, const std::string& folder, int steps) {
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
  ASSERT_THAT(program.run("plot --training full sparse-4 -o curves.svg --csv"), Succeeds());
  const std::string svg = program.read("curves.svg");
  for (const char* word : {"2 trainings", "Loss", "nDCG@10", "sparse-4", "Step", "best"})
    EXPECT_THAT(svg, HasSubstr(word));
  EXPECT_THAT(program.read("curves.csv"), AllOf(HasSubstr("\nLoss,Loss,sparse-4,2,4,"),
                                                HasSubstr("\nValidation,nDCG@10,full,4,0.5,")));
  for (const std::string file : {"one.pdf", "one.png"}) {
    EXPECT_THAT(
        program.run("plot --training full/training.tsv --scale-y log10 --theme dark -o " + file),
        Succeeds());
  }
}

TEST_F(PlotTraining, RefusesWrongUseInOneSentence) {
  write_training(program, "full", 8);
  write_training(program, "new", 0);
  fs::create_directory(program.path("other"));
  program.write("bad.tsv", "step\tloss\n1\t2\n");
  const auto refused = [&](const std::string& arguments, const std::string& word) {
    EXPECT_THAT(program.run("plot --training " + arguments), Refuses(word));
  };
  refused("full gone -o a.svg", "gone");
  refused("other -o a.svg", "has no training.tsv");
  refused("bad.tsv -o a.svg", "is not a training curve");
  refused("new -o a.svg", "nothing to draw");
  refused("full -o a.svg --y time", "--y");
  refused("full -o a.svg --caption", "--caption");
  refused("full -o a.svg --scale-y log10 --range-y 0:4", "starts at 0");
  refused("full -o full/training.tsv", ".pdf");
}

TEST_F(Mask, WritesEachStyleAndFormatWithoutADisplay) {
  for (const char* style : {"schematic", "true"}) {
    for (const auto& [file, start] :
         {std::pair{"m.pdf", "%PDF"}, {"m.svg", "<?xml"}, {"m.png", "\x89PNG"}}) {
      EXPECT_THAT(
          program.run(fmt::format(
              "mask sparse --window 4 --query 11 --document 200 --style {} -o {}", style, file)),
          Succeeds());
      EXPECT_THAT(program.read(file), StartsWith(start));
    }
  }
}

TEST_F(Mask, FilesStateProgramAndCommand) {
  ASSERT_THAT(program.run("mask sparse --window 4 -o m.svg"), Succeeds());
  EXPECT_THAT(program.read("m.svg"), AllOf(HasSubstr("Drawn by AttnScope "), HasSubstr("commit "),
                                           HasSubstr("attnscope mask sparse --window 4 -o m.svg")));
}

TEST_F(Mask, NeverReplacesItsPattern) {
  const std::string pattern = R"({"name": "mine", "attends": {"cls": {"query": "whole"}}})";
  program.write("mine.json", pattern);
  for (const std::string file : {"mine.svg", "mine.csv"})
    fs::create_hard_link(program.path("mine.json"), program.path(file));
  EXPECT_THAT(program.run("mask mine.json -o ./mine.svg"),
              FailsWith("is an input of this command"));
  EXPECT_THAT(program.run("mask mine.json -o mine.pdf --csv"),
              FailsWith("is an input of this command"));
  EXPECT_EQ(program.read("mine.json"), pattern);
  EXPECT_TRUE(fs::equivalent(program.path("mine.json"), program.path("mine.svg")));
}

TEST_F(Mask, RefusesWrongUseInOneSentence) {
  const auto refused = [&](const std::string& arguments, const std::string& word) {
    EXPECT_THAT(program.run(arguments), Refuses(word));
  };
  refused("mask sparse -o m.png", "--window");
  refused("mask sparse --window -1 -o m.png", "-1");
  refused("mask sparse --window 4 --query -1 -o m.png", "--query");
  refused("mask sparse --window 4 --style round -o m.png", "round");
  refused("mask full -o m.gif", ".pdf");
  refused("mask full --document 9000000000000000000 -o m.png", "token");
}

#endif

}  // namespace
}  // namespace attnscope::testing
