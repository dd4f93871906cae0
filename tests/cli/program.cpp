// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "base/spawn.h"

namespace attnscope::testing {

std::vector<double> scores_in(const std::string& text) {
  std::vector<double> scores;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    scores.push_back(std::strtod(line.substr(line.rfind('\t') + 1).c_str(), nullptr));
  return scores;
}

void write_beir(const Program& program, const std::vector<BeirDocument>& corpus,
                const std::vector<std::pair<std::string, std::string>>& queries,
                const std::string& qrels, const std::string& split) {
  std::string objects;
  for (const BeirDocument& document : corpus) {
    objects +=
        nlohmann::json({{"_id", document.id}, {"title", document.title}, {"text", document.text}})
            .dump() +
        "\n";
  }
  program.write("set/corpus.jsonl", objects);
  objects.clear();
  for (const auto& [id, text] : queries)
    objects += nlohmann::json({{"_id", id}, {"text", text}}).dump() + "\n";
  program.write("set/queries.jsonl", objects);
  program.write("set/qrels/" + split + ".tsv", "query-id\tcorpus-id\tscore\n" + qrels);
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

Outcome Program::run(const std::string& arguments,
                     const std::vector<std::string>& environment) const {
  Outcome outcome;
  outcome.command = "attnscope " + arguments;
  std::string command = "env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM XDG_DATA_HOME=" +
                        shell_word(folder_.string());
  for (const std::string& setting : environment) command.append(" ").append(shell_word(setting));
  command += fmt::format(" {} {} >stdout 2>stderr", shell_word(ATTNSCOPE_PROGRAM), arguments);
  outcome.exit_code = shell(command);
  outcome.out = read("stdout");
  outcome.err = read("stderr");
  return outcome;
}

nlohmann::json Program::json(const std::string& arguments) const {
  const Outcome outcome = run(arguments);
  EXPECT_THAT(outcome, Succeeds());
  return nlohmann::json::parse(outcome.out);
}

int Program::shell(const std::string& command) const {
  const int status =
      std::system(fmt::format("cd {} && {}", shell_word(folder_.string()), command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Program::write(const std::string& name, const std::string& text) const {
  std::filesystem::create_directories(path(name).parent_path());
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name).string();
}

std::string Program::read(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace attnscope::testing
