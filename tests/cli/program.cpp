// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace attnscope::testing {

namespace {

std::string quoted(const std::string& text) {
  std::string result(1, '\'');
  for (const char c : text) {
    if (c == '\'') {
      result.append("'\\''");
    } else {
      result.push_back(c);
    }
  }
  result.push_back('\'');
  return result;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::vector<double> scores_in(const std::string& text) {
  std::vector<double> scores;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    scores.push_back(std::strtod(line.substr(line.rfind('\t') + 1).c_str(), nullptr));
  return scores;
}

void expect_refusal(const Outcome& outcome, int exit_code, const std::vector<std::string>& words) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("attnscope: ")) << outcome.err;
  for (const std::string& word : words) EXPECT_THAT(outcome.err, ::testing::HasSubstr(word));
}

Program::Program() {
  std::string name = (std::filesystem::temp_directory_path() / "attnscope-cli-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

Program::~Program() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Outcome Program::run(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment) const {
  std::string command = fmt::format(
      "cd {0} && env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM XDG_DATA_HOME={0}",
      quoted(folder_.string()));
  for (const std::string& setting : environment) command.append(" ").append(quoted(setting));
  command.append(" ").append(quoted(ATTNSCOPE_PROGRAM));
  for (const std::string& argument : arguments) command.append(" ").append(quoted(argument));
  command +=
      fmt::format(" >{} 2>{}", quoted(path("stdout").string()), quoted(path("stderr").string()));
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.out = text_of(path("stdout"));
  outcome.err = text_of(path("stderr"));
  return outcome;
}

std::string Program::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name).string();
}

std::string Program::read(const std::string& name) const {
  return text_of(path(name));
}

}  // namespace attnscope::testing
