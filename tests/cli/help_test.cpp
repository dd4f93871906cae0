// SPDX-License-Identifier: GPL-3.0-or-later
//
// Help, completion, man pages, and former names of commands and options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class Help : public ProgramTest {};
class Completion : public ProgramTest {};
class Manual : public ProgramTest {};

/// The commands that --help lists, in its order.
std::vector<std::string> commands(const Program& program) {
  std::vector<std::string> names;
  std::istringstream lines(program.run({"--help"}).out);
  const std::regex listed("  ([a-z][a-z-]*)  +[A-Z].*");
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, listed)) names.push_back(match[1]);
  return names;
}

TEST_F(Help, EveryCommandHasAnExample) {
  const auto names = commands(program);
  ASSERT_GT(names.size(), 20U);
  for (const std::string& name : names) {
    const Outcome requested = program.run({"help", name});
    EXPECT_EQ(requested.exit_code, 0) << name;
    EXPECT_THAT(requested.out, HasSubstr("Usage: attnscope " + name));
    EXPECT_THAT(requested.out, ContainsRegex("Example:\n  .*attnscope " + name)) << name;
    EXPECT_EQ(program.run({name, "--help"}).out, requested.out);
  }
}

TEST_F(Help, ListsCommandsInGroups) {
  const std::string help = program.run({"--help"}).out;
  EXPECT_LT(help.find("Compare attention:"), help.find("  run "));
  EXPECT_LT(help.find("Score, rank and evaluate:"), help.find("  score "));
  EXPECT_EQ(program.run({"help"}).out, help);
}

TEST_F(Help, SuggestsTheNearestCommand) {
  EXPECT_THAT(program.run({"help", "scroe"}), FailsWith("did you mean 'score'?"));
}

TEST_F(Help, AcceptsFormerNamesWithoutListingThem) {
  EXPECT_THAT(program.run({"--help"}).out, Not(HasSubstr("foresee")));
  EXPECT_THAT(program.run({"foresee", "nowhere.json"}).err, HasSubstr("nowhere.json"));
  EXPECT_THAT(program.run({"help", "train"}).out, Not(HasSubstr("--clip")));
  EXPECT_THAT(program.run({"train", "--clip=nan"}).err, HasSubstr("--max-grad-norm"));
}

TEST_F(Completion, BashCompletesCommandsAndOptions) {
  program.write("completion.bash", program.run({"completion", "bash"}).out);
  const auto completed = [&](const std::string& words, int current) {
    const std::string script = "source completion.bash; COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(current) +
                               "; _attnscope; echo ${COMPREPLY[@]} > replies";
    EXPECT_EQ(
        std::system(("cd '" + program.path("").string() + "' && bash -c '" + script + "'").c_str()),
        0);
    std::string replies = program.read("replies");
    return replies.substr(0, replies.find('\n'));
  };
  EXPECT_EQ(completed("attnscope esti", 1), "estimate");
  EXPECT_EQ(completed("attnscope run --res", 2), "--resume");
  EXPECT_EQ(completed("attnscope list dev", 2), "devices");
  EXPECT_EQ(completed("attnscope run fil", 2), "");  // the shell completes file names
}

TEST_F(Completion, RefusesOtherShells) {
  EXPECT_THAT(program.run({"completion", "fish"}), FailsWith("bash or zsh"));
  EXPECT_THAT(program.run({"completion", "zsh"}).out, HasSubstr("#compdef attnscope"));
}

TEST_F(Manual, WritesAPageWithOptionsForEveryCommand) {
  ASSERT_EQ(program.run({"manual", "man"}).exit_code, 0);
  for (const std::string& name : commands(program)) {
    EXPECT_THAT(program.read("man/attnscope-" + name + ".1"), HasSubstr(".SH EXAMPLE")) << name;
  }
  EXPECT_THAT(program.read("man/attnscope-run.1"), HasSubstr("\\fB\\-\\-resume\\fR \\fIRUN\\fR"));
}

}  // namespace
}  // namespace attnscope::testing
