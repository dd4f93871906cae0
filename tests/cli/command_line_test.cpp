// SPDX-License-Identifier: Apache-2.0
//
// Help, completion and man pages; wrong use, which is reported in one sentence with its exit code
// and changes no file.

#include <regex>
#include <sstream>

#include "tests/base/packed.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::ContainsRegex;

class Help : public ProgramTest {
 protected:
  /// The commands that --help lists, in its order.
  [[nodiscard]] std::vector<std::string> commands() const {
    std::vector<std::string> names;
    std::istringstream lines(program.run("--help").out);
    const std::regex listed("  ([a-z][a-z-]*)  +[A-Z].*");
    std::smatch match;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_match(line, match, listed)) names.push_back(match[1]);
    return names;
  }
};
class Completion : public ProgramTest {};
class CommandLine : public ProgramTest {};

const std::string stored_run = small_run + ":last";

const char* const sweep_text = R"({
  "name": "small",
  "operation": "attention",
  "contenders": ["full/dense", "sparse/segment"],
  "windows": [4],
  "sequence_tokens": [64]
})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(Help, EveryCommandHasAnExampleAndAManualPageWithIt) {
  const auto names = commands();
  ASSERT_GT(names.size(), 20U);
  ASSERT_THAT(program.run("manual man"), Succeeds());
  for (const std::string& name : names) {
    const Outcome requested = program.run("help " + name);
    EXPECT_THAT(requested, Prints("Usage: attnscope " + name));
    EXPECT_THAT(requested.out, ContainsRegex("Example:\n  .*attnscope " + name)) << name;
    EXPECT_EQ(program.run(name + " --help").out, requested.out);
    EXPECT_THAT(program.read("man/attnscope-" + name + ".1"), HasSubstr(".SH EXAMPLE")) << name;
  }
  EXPECT_THAT(program.read("man/attnscope-run.1"), HasSubstr("\\fB\\-\\-resume\\fR \\fIRUN\\fR"));
}

TEST_F(Help, ListsCommandsInGroups) {
  const std::string help = program.run("--help").out;
  EXPECT_LT(help.find("Compare attention:"), help.find("  run "));
  EXPECT_LT(help.find("Score, rank and evaluate:"), help.find("  score "));
  EXPECT_EQ(program.run("help").out, help);
  EXPECT_THAT(program.run("help scroe"), FailsWith("did you mean 'score'?"));
  EXPECT_THAT(program.run("--version"), Prints("attnscope "));
}

TEST_F(Help, AcceptsFormerNamesWithoutListingThem) {
  EXPECT_THAT(program.run("--help").out, Not(HasSubstr("foresee")));
  EXPECT_THAT(program.run("foresee nowhere.json").err, HasSubstr("nowhere.json"));
  EXPECT_THAT(program.run("help train").out, Not(HasSubstr("--clip")));
  EXPECT_THAT(program.run("train --clip=nan").err, HasSubstr("--max-grad-norm"));
}

TEST_F(Completion, BashCompletesCommandsAndOptions) {
  program.write("completion.bash", program.run("completion bash").out);
  const auto completed = [&](const std::string& words, int current) {
    EXPECT_EQ(program.shell(fmt::format("bash -c 'source completion.bash; COMP_WORDS=({}); "
                                        "COMP_CWORD={}; _attnscope; echo ${{COMPREPLY[@]}}' "
                                        "> replies",
                                        words, current)),
              0);
    const std::string replies = program.read("replies");
    return replies.substr(0, replies.find('\n'));
  };
  EXPECT_EQ(completed("attnscope esti", 1), "estimate");
  EXPECT_EQ(completed("attnscope run --res", 2), "--resume");
  EXPECT_EQ(completed("attnscope list dev", 2), "devices");
  EXPECT_EQ(completed("attnscope run fil", 2), "");  // the shell completes file names
}

TEST_F(Completion, RefusesUnknownShells) {
  EXPECT_THAT(program.run("completion fish"), FailsWith("bash or zsh"));
  EXPECT_THAT(program.run("completion zsh"), Prints("#compdef attnscope"));
}

TEST_F(CommandLine, RefusesUnknownCommandsAndOptions) {
  EXPECT_THAT(program.run("fly"), Refuses("fly", "--help"));
  EXPECT_THAT(program.run("gone.attn.gz"), Refuses("there is no file 'gone.attn.gz'"));
  EXPECT_THAT(program.run("table --colour"), Refuses("--colour"));
  EXPECT_THAT(program.run("table last c.cache --colour"),
              Refuses("not expected: c.cache --colour;"));
  EXPECT_THAT(program.run("export last"), Refuses("--output"));
}

TEST_F(CommandLine, ClosedStderrIsIgnoredAndClosedStdoutIsAnError) {
  const auto code_of = [&](const std::string& words) {
    return program.shell(fmt::format("'{}' {}", ATTNSCOPE_PROGRAM, words));
  };
  EXPECT_EQ(code_of("fly 2>&-"), 2);
  EXPECT_EQ(code_of("fly 2>/dev/full"), 2);
  EXPECT_EQ(code_of("list patterns 2>&- >/dev/null"), 0);
  for (const std::string words : {"--version", "--help", "list patterns"}) {
    EXPECT_EQ(code_of(words + " >/dev/full 2>/dev/null"), 2) << words;
    EXPECT_EQ(code_of(words + " >&- 2>/dev/null"), 2) << words;
  }
}

TEST_F(CommandLine, RefusesAWindowWithoutADisplay) {
  EXPECT_THAT(program.run(""), Refuses());
}

TEST_F(CommandLine, ListsPatternsAndSweepsWithoutAWorker) {
  std::vector<std::string> names;
  for (const json& row : program.json("list patterns --json")) names.push_back(row.at("name"));
  EXPECT_THAT(names,
              ::testing::IsSupersetOf({"full", "sparse", "sparse-without-independent-query",
                                       "longformer", "qds", "bigbird", "chunks", "listwise"}));
  EXPECT_THAT(program.run("list sweeps"), Prints("paper-fig2a"));
}

#ifndef ATTNSCOPE_HAS_GUI
TEST_F(CommandLine, ABuildWithoutQtNamesAnAlternative) {
  EXPECT_THAT(program.run("plot last -o f.pdf"), Refuses("Qt", "export"));
  EXPECT_THAT(program.run("mask full -o m.pdf"), Refuses("Qt"));
}
#endif

TEST_F(CommandLine, AnEmptyStoreHasNoRuns) {
  EXPECT_EQ(program.run("list runs --json").out, "[]\n");
  EXPECT_THAT(program.run("table last"), RefusesStore());
}

TEST_F(CommandLine, CheckStoreFindsADamagedDatabase) {
  EXPECT_THAT(program.run("check-store --db " + small_run), Prints("1 run,"));
  fs::copy_file(small_run, program.path("hurt.attn"));
  program.write("hurt.attn", with(program.read("hurt.attn"), "version-1", "version-7"));
  EXPECT_THAT(program.run("check-store --db hurt.attn"), RefusesStore("run 1", "damaged"));
  EXPECT_THAT(program.run("check-store --db none.db"), RefusesStore("none.db"));
}

TEST_F(CommandLine, ReadsCompressedExportsLikeExports) {
  fs::copy_file(small_run, program.path("run.attn"));
  const std::string whole = tests::packed(program.read("run.attn"));
  program.write("run.attn.gz", whole);
  program.write("cut.attn.gz", whole.substr(0, whole.size() / 2));
  const auto cells = [&](const std::string& run) {
    json rows = program.json("table --format json " + run);
    for (json& row : rows) row.erase("provenance");  // it names the file
    return rows;
  };
  const json expected = cells("run.attn:last");
  EXPECT_EQ(cells("run.attn.gz:last"), expected);
  EXPECT_EQ(cells("run.attn.gz"), expected);
  EXPECT_EQ(cells("last --db run.attn.gz"), expected);
  EXPECT_THAT(program.run("check-store --db run.attn.gz"), Succeeds());
  EXPECT_THAT(program.run("table run.attn.gz:last --format csv"),
              Prints("run --again run.attn.gz:"));
  EXPECT_THAT(program.run("table cut.attn.gz:last"),
              RefusesStore("cut.attn.gz", "truncated", "copy"));
  // A command that fails, or that only changes existing runs, creates no database.
  EXPECT_THAT(program.run("import cut.attn.gz --db new.db"),
              RefusesStore("cut.attn.gz", "truncated"));
  EXPECT_THAT(program.run("describe 1 --name x --db new.db"),
              RefusesStore("there is no file new.db"));
  EXPECT_THAT(program.run("run --resume 1 --db new.db"), RefusesStore("there is no file new.db"));
  EXPECT_FALSE(program.has("new.db"));
  EXPECT_THAT(program.run("import run.attn.gz"), Succeeds());
  EXPECT_EQ(cells("last"), expected);
  EXPECT_THAT(program.run("export last -o again.attn.gz"), Succeeds());
  EXPECT_EQ(cells("again.attn.gz"), expected);
}

TEST_F(CommandLine, AnswersAsTextAndJson) {
  EXPECT_THAT(program.run("answer " + stored_run),
              Prints("lowest median: full/sdpa", "Longest length that fits:"));
  EXPECT_FALSE(program.json("answer --json " + stored_run).at("settings").empty());
  EXPECT_THAT(program.run("answer --x window " + stored_run), Succeeds());
  EXPECT_THAT(program.run("answer nowhere.attn:last"), RefusesStore("nowhere.attn"));
}

TEST_F(CommandLine, AnswersForAListOfCandidates) {
  EXPECT_THAT(program.run("answer --document-tokens 51 " + stored_run),
              Prints("100 candidates", "for 100 documents"));
  EXPECT_THAT(program.run("answer --sequence-tokens 64 " + stored_run),
              Prints("sequences of 64 tokens."));
  program.write("lengths.txt",
                "\xef\xbb\xbf"
                "51\r\n60\r\n");  // as an editor on Windows writes it
  const json answer = program.json(
      "answer --document-tokens lengths.txt --query-tokens 12 --candidates 7 --memory-mb 100 "
      "--latency-ms 2.5 --json " +
      stored_run);
  ASSERT_FALSE(answer.empty());
  EXPECT_EQ(answer[0]["candidates"], 7);
  EXPECT_EQ(answer[0]["query_tokens"], 12);
  EXPECT_EQ(answer[0]["document_tokens"]["count"], 2);
  EXPECT_EQ(answer[0]["memory_limit_bytes"], 100e6);
  EXPECT_EQ(answer[0]["latency_limit_ms"], 2.5);
}

TEST_F(CommandLine, RefusesInvalidQuestionsWithAFix) {
  program.write("lengths.txt", "51\nlong\n");
  const auto refused = [&](const std::string& more, const auto&... words) {
    EXPECT_THAT(program.run(fmt::format("answer {} {}", stored_run, more)), Refuses(words...));
  };
  refused("--x widnow", "window");
  refused("--baseline full/none", "full/none");
  refused("--only tokens=3", "tokens");
  refused("--candidates 7", "--document-tokens");
  refused("--sequence-tokens 5 --query-tokens 10", "5 tokens", "at least 14");
  refused("--document-tokens 51 --memory-mb nan", "--memory-mb", "nan");
  refused("--document-tokens 51 --memory-mb 1e308", "--memory-mb", "up to 1000000000000");
  refused("--document-tokens 51 --latency-ms inf", "--latency-ms", "inf");
  refused("--document-tokens lengths.txt", "lengths.txt", "line 2", "long");
  refused("--document-tokens nowhere.txt", "nowhere.txt");
  refused("--document-tokens 0", "--document-tokens");
  refused("--document-tokens 51 --x window", "--x");
  refused("--document-tokens 51 --sequence-tokens 64", "--sequence-tokens");
  refused("--document-tokens 51 --candidates 0", "--candidates");
  refused("--document-tokens 51 --latency-ms -1", "--latency-ms");
}

TEST_F(CommandLine, RefusesALinkToItselfAsADatabase) {
  fs::create_symlink("loop.db", program.path("loop.db"));
  EXPECT_THAT(program.run("list runs --db loop.db"), RefusesStore("loop.db"));
  EXPECT_THAT(program.run("list runs --db " + std::string(300, 'x')), RefusesStore("xxx"));
}

TEST_F(CommandLine, RefusesMissingAndInvalidSweeps) {
  EXPECT_THAT(program.run("run nowhere.json"), Refuses("nowhere.json"));
  EXPECT_THAT(program.run("run quikc"), Refuses("quick"));
  EXPECT_THAT(program.run("run"), Refuses("--resume"));
  const auto refused = [&](const std::string& text, const auto&... words) {
    program.write("sweep.json", text);
    EXPECT_THAT(program.run("run sweep.json"), Refuses(words...));
  };
  refused(with(sweep_text, "windows", "windoes"), "sweep.json", "line 5", "windoes", "windows");
  refused("", "sweep.json");
}

TEST_F(CommandLine, RefusesAForeignDatabaseAndLeavesItUnchanged) {
  program.write("sweep.json", sweep_text);
  const std::string foreign(5000, 'x');
  program.write("foreign.db", foreign);
  EXPECT_THAT(program.run("run sweep.json --db foreign.db"), RefusesStore("foreign.db"));
  EXPECT_THAT(program.run("table last --db foreign.db"), RefusesStore("foreign.db"));
  EXPECT_EQ(program.read("foreign.db"), foreign);
  EXPECT_THAT(program.run("run sweep.json --db /proc/attnscope.db",
                          {"ATTNSCOPE_WORKER=" FAKE_WORKER_PROGRAM}),
              RefusesStore("/proc/attnscope.db"));
}

TEST_F(CommandLine, ARunThatCannotStartCreatesNoDatabase) {
  program.write("sweep.json", sweep_text);
  for (const std::string worker : {"/nowhere/attnscope-worker", "false", FAKE_WORKER_PROGRAM}) {
    const Outcome outcome =
        program.run("run sweep.json --db new.db --worker " + worker, {"FAKE_WORKER=old-protocol"});
    EXPECT_THAT(outcome, Refuses());
    if (worker.starts_with("/nowhere")) {
      EXPECT_THAT(outcome.err, HasSubstr(worker));
    }
    EXPECT_FALSE(program.has("new.db")) << worker;
  }
}

TEST_F(CommandLine, AttendChecksItsArgumentsBeforeStartingAWorker) {
  program.write("layout.json", R"({"items":[{"cls":1,"query":3,"document":8}]})");
  const auto attend = [&](const std::string& more) {
    return program.run(
        "attend in.safetensors --layout layout.json --implementation segment -o out.safetensors "
        "--pattern " +
        more);
  };
  EXPECT_THAT(attend("sparse"), Refuses("--window"));
  EXPECT_THAT(attend("sparse --window -2"), Refuses("-2"));
  EXPECT_THAT(attend("sparce --window 4"), Refuses("sparce", "sparse"));
  EXPECT_THAT(attend("sparse --window 4 --dtype float8"), Refuses("float8"));
  program.write("mine.json",
                "{\n  \"name\": \"mine\",\n  \"attends\": {\n    \"cls\": { \"qurey\": \"whole\" "
                "}\n  }\n}\n");
  EXPECT_THAT(attend("mine.json"), Refuses("mine.json", "line 4", "qurey", "query"));
  program.write("in.safetensors", "mine");
  program.write("prog.py", "mine");
  for (const std::string out : {"in.safetensors", "layout.json", "prog.py"}) {
    EXPECT_THAT(program.run("attend in.safetensors --pattern full --layout layout.json "
                            "--implementation segment --with prog.py -o " +
                            out),
                Refuses(out, "is an input of this command"));
  }
  program.write("layout.json", R"({"items":[{"cls":1,"query":-3,"document":8}]})");
  EXPECT_THAT(attend("sparse --window 4"), Refuses("layout.json", "query"));
}

}  // namespace
}  // namespace attnscope::testing
