// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

namespace attnscope {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(ChildProcess, ReportsTheExitCode) {
  ChildProcess child;
  EXPECT_FALSE(child.is_running());
  ASSERT_EQ(child.start({.arguments = shell("exit $CODE"), .environment = {"CODE=3"}}), 0);
  const auto status = child.wait(seconds(60));
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  EXPECT_EQ(child.wait_error(), 0);
  EXPECT_FALSE(child.is_running());
}

TEST(ChildProcess, ReportsAProgramThatCannotBeStarted) {
  ChildProcess child;
  EXPECT_EQ(child.start({.arguments = {"/no/such/program"}}), ENOENT);
  EXPECT_FALSE(child.is_running());
  EXPECT_FALSE(child.wait(seconds(60)));
}

TEST(ChildProcess, KillsAProcessAfterItsTimeLimit) {
  for (const bool own_group : {false, true}) {
    ChildProcess child;
    ASSERT_EQ(child.start({.arguments = shell("exec sleep 600"), .own_group = own_group}), 0);
    int calls = 0;
    EXPECT_FALSE(child.wait(milliseconds(20), [&] { ++calls; }));
    EXPECT_GT(calls, 0);
    EXPECT_TRUE(child.is_running());
    child.kill();
    ASSERT_TRUE(child.status());
    EXPECT_TRUE(WIFSIGNALED(*child.status()));
    EXPECT_EQ(WTERMSIG(*child.status()), SIGKILL);
  }
}

TEST(ChildProcess, ReportsThatTheExitCodeIsUnknownIfSigchldIsIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  ChildProcess child;
  ASSERT_EQ(child.start({.arguments = shell("exit 3")}), 0);
  EXPECT_EQ(child.wait(seconds(60)), 0);
  EXPECT_EQ(child.wait_error(), ECHILD);
  std::signal(SIGCHLD, before);
}

TEST(ShellWord, QuotesSpecialCharacters) {
  EXPECT_EQ(shell_word("a/b-1.tsv"), "a/b-1.tsv");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's $x"), R"('it'\''s $x')");
}

}  // namespace
}  // namespace attnscope
