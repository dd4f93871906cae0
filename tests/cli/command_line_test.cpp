// SPDX-License-Identifier: Apache-2.0
//
// Wrong use is reported in one sentence with its exit code and changes no file.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/base/packed.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::HasSubstr;

class CommandLine : public ProgramTest {};

const std::string small_run = ATTNSCOPE_SOURCE_DIR "/tests/store/small_run.attn";
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

TEST_F(CommandLine, HelpAndVersionSucceed) {
  EXPECT_EQ(program.run({"--help"}).exit_code, 0);
  EXPECT_THAT(program.run({"--help"}).out, HasSubstr("attend"));
  EXPECT_EQ(program.run({"run", "--help"}).exit_code, 0);
  EXPECT_THAT(program.run({"--version"}).out, HasSubstr("attnscope "));
}

TEST_F(CommandLine, RefusesUnknownCommandsAndOptions) {
  expect_refusal(program.run({"fly"}), 2, {"fly", "--help"});
  expect_refusal(program.run({"gone.attn.gz"}), 2, {"there is no file 'gone.attn.gz'"});
  expect_refusal(program.run({"table", "--colour"}), 2, {"--colour"});
  expect_refusal(program.run({"table", "last", "c.cache", "--colour"}), 2,
                 {"not expected: c.cache --colour;"});
  expect_refusal(program.run({"export", "last"}), 2, {"--output"});
}

TEST_F(CommandLine, ClosedStderrIsIgnoredAndClosedStdoutIsAnError) {
  const auto code_of = [](const std::string& words) {
    const int status = std::system(fmt::format("'{}' {}", ATTNSCOPE_PROGRAM, words).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(code_of("fly 2>&-"), 2);
  EXPECT_EQ(code_of("fly 2>/dev/full"), 2);
  EXPECT_EQ(code_of("list patterns 2>&- >/dev/null"), 0);
  for (const char* words : {"--version", "--help", "list patterns"}) {
    EXPECT_EQ(code_of(std::string(words) + " >/dev/full 2>/dev/null"), 2) << words;
    EXPECT_EQ(code_of(std::string(words) + " >&- 2>/dev/null"), 2) << words;
  }
}

TEST_F(CommandLine, RefusesAWindowWithoutADisplay) {
  const Outcome outcome = program.run({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(CommandLine, ListsPatternsAndSweepsWithoutAWorker) {
  const auto patterns = nlohmann::json::parse(program.run({"list", "patterns", "--json"}).out);
  std::vector<std::string> names;
  for (const auto& row : patterns) names.push_back(row.at("name"));
  EXPECT_THAT(names,
              ::testing::IsSupersetOf({"full", "sparse", "sparse-without-independent-query",
                                       "longformer", "qds", "bigbird", "chunks", "listwise"}));
  EXPECT_THAT(program.run({"list", "sweeps"}).out, HasSubstr("paper-fig2a"));
}

#ifndef ATTNSCOPE_HAS_GUI
TEST_F(CommandLine, ABuildWithoutQtNamesAnAlternative) {
  expect_refusal(program.run({"plot", "last", "-o", "f.pdf"}), 2, {"Qt", "export"});
  expect_refusal(program.run({"mask", "full", "-o", "m.pdf"}), 2, {"Qt"});
}
#endif

TEST_F(CommandLine, AnEmptyStoreHasNoRuns) {
  EXPECT_EQ(program.run({"list", "runs", "--json"}).out, "[]\n");
  EXPECT_EQ(program.run({"table", "last"}).exit_code, 3);
}

TEST_F(CommandLine, CheckStoreFindsADamagedDatabase) {
  EXPECT_THAT(program.run({"check-store", "--db", small_run}), Prints("1 run,"));

  std::filesystem::copy_file(small_run, program.path("hurt.attn"));
  program.write("hurt.attn", with(program.read("hurt.attn"), "version-1", "version-7"));
  expect_refusal(program.run({"check-store", "--db", "hurt.attn"}), 3, {"run 1", "damaged"});
  expect_refusal(program.run({"check-store", "--db", "none.db"}), 3, {"none.db"});
}

TEST_F(CommandLine, ReadsCompressedExportsLikeExports) {
  std::filesystem::copy_file(small_run, program.path("run.attn"));
  const std::string whole = tests::packed(program.read("run.attn"));
  program.write("run.attn.gz", whole);
  program.write("cut.attn.gz", whole.substr(0, whole.size() / 2));
  const auto cells = [&](const std::vector<std::string>& run) {
    const Outcome outcome = program.run(joined({"table", "--format", "json"}, run));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    nlohmann::json rows = nlohmann::json::parse(outcome.out);
    for (nlohmann::json& row : rows) row.erase("provenance");  // it names the file
    return rows;
  };
  const nlohmann::json expected = cells({"run.attn:last"});
  EXPECT_EQ(cells({"run.attn.gz:last"}), expected);
  EXPECT_EQ(cells({"run.attn.gz"}), expected);
  EXPECT_EQ(cells({"last", "--db", "run.attn.gz"}), expected);
  EXPECT_EQ(program.run({"check-store", "--db", "run.attn.gz"}).exit_code, 0);
  const Outcome repeated = program.run({"table", "run.attn.gz:last", "--format", "csv"});
  EXPECT_THAT(repeated.out, HasSubstr("run --again run.attn.gz:"));
  expect_refusal(program.run({"table", "cut.attn.gz:last"}), 3,
                 {"cut.attn.gz", "truncated", "copy"});
  expect_refusal(program.run({"import", "cut.attn.gz", "--db", "new.db"}), 3,
                 {"cut.attn.gz", "truncated"});
  // What fails, or only changes what is there, makes no database.
  expect_refusal(program.run({"describe", "1", "--name", "x", "--db", "new.db"}), 3,
                 {"there is no file new.db"});
  expect_refusal(program.run({"run", "--resume", "1", "--db", "new.db"}), 3,
                 {"there is no file new.db"});
  EXPECT_FALSE(std::filesystem::exists(program.path("new.db")));
  const Outcome imported = program.run({"import", "run.attn.gz"});
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(cells({"last"}), expected);
  EXPECT_EQ(program.run({"export", "last", "-o", "again.attn.gz"}).exit_code, 0);
  EXPECT_EQ(cells({"again.attn.gz"}), expected);
}

TEST_F(CommandLine, ReportsFieldAndLineOfAnInvalidSweep) {
  const auto refused = [&](const std::string& text, const std::vector<std::string>& words) {
    program.write("sweep.json", text);
    expect_refusal(program.run({"run", "sweep.json"}), 2, words);
  };
  refused(with(sweep_text, "windows", "windoes"), {"sweep.json", "line 5", "windoes", "windows"});
  refused(with(sweep_text, "sparse/segment", "sprase/segment"), {"sprase", "sparse"});
  refused(with(sweep_text, "[4]", "[-1]"), {"windows", "-1"});
  refused(with(sweep_text, "[64]", "\"4096:64:*2\""), {"sequence_tokens", "4096:64:*2"});
  refused(with(sweep_text, "[64]", "[]"), {"sequence_tokens"});
  refused(with(sweep_text, "[64]", "[3]"), {"3"});
  refused("{ \"name\": ", {"sweep.json", "line"});
  refused("", {"sweep.json"});
}

TEST_F(CommandLine, AnswersAsTextAndJson) {
  const Outcome text = program.run({"answer", stored_run});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("lowest median: full/sdpa"));
  EXPECT_THAT(text.out, HasSubstr("Longest length that fits:"));
  const auto json = nlohmann::json::parse(program.run({"answer", stored_run, "--json"}).out);
  EXPECT_FALSE(json.at("settings").empty());
  EXPECT_EQ(program.run({"answer", stored_run, "--x", "window"}).exit_code, 0);
  expect_refusal(program.run({"answer", stored_run, "--x", "widnow"}), 2, {"window"});
  expect_refusal(program.run({"answer", stored_run, "--baseline", "full/none"}), 2, {"full/none"});
  expect_refusal(program.run({"answer", stored_run, "--only", "tokens=3"}), 2, {"tokens"});
  expect_refusal(program.run({"answer", "nowhere.attn:last"}), 3, {"nowhere.attn"});
}

TEST_F(CommandLine, AnswersForAListOfCandidates) {
  const Outcome text = program.run({"answer", stored_run, "--document-tokens", "51"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("100 candidates"));
  EXPECT_THAT(text.out, HasSubstr("for 100 documents"));
  const Outcome whole = program.run({"answer", stored_run, "--sequence-tokens", "64"});
  EXPECT_THAT(whole.out, HasSubstr("sequences of 64 tokens."));
  program.write("lengths.txt",
                "\xef\xbb\xbf"
                "51\r\n60\r\n");  // as an editor on Windows writes it
  const auto json = nlohmann::json::parse(
      program
          .run({"answer", stored_run, "--document-tokens", "lengths.txt", "--query-tokens", "12",
                "--candidates", "7", "--memory-mb", "100", "--latency-ms", "2.5", "--json"})
          .out);
  ASSERT_FALSE(json.empty());
  EXPECT_EQ(json[0]["candidates"], 7);
  EXPECT_EQ(json[0]["query_tokens"], 12);
  EXPECT_EQ(json[0]["document_tokens"]["count"], 2);
  EXPECT_EQ(json[0]["memory_limit_bytes"], 100e6);
  EXPECT_EQ(json[0]["latency_limit_ms"], 2.5);
}

TEST_F(CommandLine, RefusesALinkToItselfAsADatabase) {
  std::filesystem::create_symlink("loop.db", program.path("loop.db"));
  expect_refusal(program.run({"list", "runs", "--db", "loop.db"}), 3, {"loop.db"});
  expect_refusal(program.run({"list", "runs", "--db", std::string(300, 'x')}), 3, {"xxx"});
}

TEST_F(CommandLine, RefusesInvalidQuestionsWithAFix) {
  program.write("lengths.txt", "51\nlong\n");
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& words) {
    expect_refusal(program.run(joined({"answer", stored_run}, more)), 2, words);
  };
  refused({"--candidates", "7"}, {"--document-tokens"});
  refused({"--sequence-tokens", "5", "--query-tokens", "10"}, {"5 tokens", "at least 14"});
  refused({"--document-tokens", "51", "--memory-mb", "nan"}, {"--memory-mb", "nan"});
  refused({"--document-tokens", "51", "--memory-mb", "1e308"},
          {"--memory-mb", "up to 1000000000000"});
  refused({"--document-tokens", "51", "--latency-ms", "inf"}, {"--latency-ms", "inf"});
  refused({"--document-tokens", "lengths.txt"}, {"lengths.txt", "line 2", "long"});
  refused({"--document-tokens", "nowhere.txt"}, {"nowhere.txt"});
  refused({"--document-tokens", "0"}, {"--document-tokens"});
  refused({"--document-tokens", "51", "--x", "window"}, {"--x"});
  refused({"--document-tokens", "51", "--sequence-tokens", "64"}, {"--sequence-tokens"});
  refused({"--document-tokens", "51", "--candidates", "0"}, {"--candidates"});
  refused({"--document-tokens", "51", "--latency-ms", "-1"}, {"--latency-ms"});
}

TEST_F(CommandLine, RefusesAMissingSweep) {
  expect_refusal(program.run({"run", "nowhere.json"}), 2, {"nowhere.json"});
  expect_refusal(program.run({"run", "quikc"}), 2, {"quick"});
  expect_refusal(program.run({"run"}), 2, {"--resume"});
}

TEST_F(CommandLine, RefusesAMissingWorker) {
  program.write("sweep.json", sweep_text);
  const Outcome outcome =
      program.run({"run", "sweep.json", "--worker", "/nowhere/attnscope-worker"});
  expect_refusal(outcome, 2, {"/nowhere/attnscope-worker"});
}

TEST_F(CommandLine, RefusesAForeignDatabaseAndLeavesItUnchanged) {
  program.write("sweep.json", sweep_text);
  const std::string foreign(5000, 'x');
  program.write("foreign.db", foreign);
  expect_refusal(program.run({"run", "sweep.json", "--db", "foreign.db"}), 3, {"foreign.db"});
  expect_refusal(program.run({"table", "last", "--db", "foreign.db"}), 3, {"foreign.db"});
  EXPECT_EQ(program.read("foreign.db"), foreign);
}

TEST_F(CommandLine, RefusesAnUnwritableDatabase) {
  program.write("sweep.json", sweep_text);
  expect_refusal(program.run({"run", "sweep.json", "--db", "/proc/attnscope.db"},
                             {"ATTNSCOPE_WORKER=" FAKE_WORKER_PROGRAM}),
                 3, {"/proc/attnscope.db"});
}

TEST_F(CommandLine, ARunThatCannotStartCreatesNoDatabase) {
  program.write("sweep.json", sweep_text);
  for (const char* worker : {"/nowhere/attnscope-worker", "false", FAKE_WORKER_PROGRAM}) {
    expect_refusal(program.run({"run", "sweep.json", "--db", "new.db", "--worker", worker},
                               {"FAKE_WORKER=old-protocol"}),
                   2, {"attnscope: "});
    EXPECT_FALSE(std::filesystem::exists(program.path("new.db"))) << worker;
  }
}

TEST_F(CommandLine, AttendChecksItsArgumentsBeforeStartingAWorker) {
  program.write("layout.json", R"({"items":[{"cls":1,"query":3,"document":8}]})");
  const auto attend = [&](const std::string& pattern, const std::vector<std::string>& more) {
    return program.run(
        joined({"attend", "in.safetensors", "--pattern", pattern, "--layout", "layout.json",
                "--implementation", "segment", "-o", "out.safetensors"},
               more));
  };
  expect_refusal(attend("sparse", {}), 2, {"--window"});
  expect_refusal(attend("sparse", {"--window", "-2"}), 2, {"-2"});
  expect_refusal(attend("sparce", {"--window", "4"}), 2, {"sparce", "sparse"});
  expect_refusal(attend("sparse", {"--window", "4", "--dtype", "float8"}), 2, {"float8"});
  program.write("in.safetensors", "mine");
  program.write("prog.py", "mine");
  for (const std::string out : {"in.safetensors", "layout.json", "prog.py"}) {
    expect_refusal(
        program.run({"attend", "in.safetensors", "--pattern", "full", "--layout", "layout.json",
                     "--implementation", "segment", "--with", "prog.py", "-o", out}),
        2, {out, "is an input of this command"});
  }
  program.write("layout.json", R"({"items":[{"cls":1,"query":-3,"document":8}]})");
  expect_refusal(attend("sparse", {"--window", "4"}), 2, {"layout.json", "query"});
}

TEST_F(CommandLine, ReportsFieldAndLineOfAnInvalidPattern) {
  program.write("layout.json", R"({"items":[{"cls":1,"query":3,"document":8}]})");
  program.write("mine.json",
                "{\n  \"name\": \"mine\",\n  \"attends\": {\n    \"cls\": { \"qurey\": \"whole\" "
                "}\n  }\n}\n");
  expect_refusal(
      program.run({"attend", "in.safetensors", "--pattern", "mine.json", "--layout", "layout.json",
                   "--implementation", "segment", "-o", "out.safetensors"}),
      2, {"mine.json", "line 4", "qurey", "query"});
}

}  // namespace
}  // namespace attnscope::testing
