#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs the built `attnscope` in a temporary folder and returns its outcome; what most tests of the
// program use.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace attnscope::testing {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

struct Outcome {
  std::string command;
  int exit_code = -1;
  std::string out, err;
  friend std::ostream& operator<<(std::ostream& stream, const Outcome& outcome) {
    return stream << outcome.command << ": exit code " << outcome.exit_code
                  << ", stderr: " << outcome.err;
  }
};

MATCHER_P(EndsWithCode, code, "") {
  return arg.exit_code == code;
}
template <typename... Words>
auto HasAll(std::string Outcome::*stream, const Words&... words) {
  return ::testing::Field(stream, AllOf(HasSubstr(""), HasSubstr(words)...));
}
/// Exit code 0.
inline auto Succeeds() {
  return EndsWithCode(0);
}
/// Exit code 0 and all words on stdout.
template <typename... Words>
auto Prints(const Words&... words) {
  return AllOf(Succeeds(), HasAll(&Outcome::out, words...));
}
/// Exit code 0 and all words on stderr.
template <typename... Words>
auto Notes(const Words&... words) {
  return AllOf(Succeeds(), HasAll(&Outcome::err, words...));
}
/// Exit code 2 and all words on stderr.
template <typename... Words>
auto FailsWith(const Words&... words) {
  return AllOf(EndsWithCode(2), HasAll(&Outcome::err, words...));
}
/// Nothing on stdout and one line on stderr that starts with the program's name.
MATCHER(PrintsOneErrorLine, "") {
  return arg.out.empty() && arg.err.starts_with("attnscope: ") &&
         arg.err.find('\n') == arg.err.size() - 1;
}
/// Exit code 2 and one line with all words.
template <typename... Words>
auto Refuses(const Words&... words) {
  return AllOf(PrintsOneErrorLine(), FailsWith(words...));
}
/// Exit code 3 (no such run, or no such store) and one line with all words.
template <typename... Words>
auto RefusesStore(const Words&... words) {
  return AllOf(PrintsOneErrorLine(), EndsWithCode(3), HasAll(&Outcome::err, words...));
}

/// A temporary folder with its own database; removed by the destructor.
class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// `arguments` as in a shell; `environment` adds NAME=VALUE variables.
  [[nodiscard]] Outcome run(const std::string& arguments,
                            const std::vector<std::string>& environment = {}) const;
  /// The JSON on stdout of a command that succeeds.
  [[nodiscard]] nlohmann::json json(const std::string& arguments) const;
  /// Runs `command` in a shell in the folder and returns its exit code.
  [[nodiscard]] int shell(const std::string& command) const;

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(path(name));
  }
  /// Writes a file into the folder, with the folders of its name, and returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

/// The last column of each line.
[[nodiscard]] std::vector<double> scores_in(const std::string& text);

struct BeirDocument {
  std::string id, title, text;
};
/// Writes a data set as BEIR lays it out into the folder `set`. `qrels` are without their header.
void write_beir(const Program& program, const std::vector<BeirDocument>& corpus,
                const std::vector<std::pair<std::string, std::string>>& queries,
                const std::string& qrels, const std::string& split = "test");

/// A file or folder of the golden fixtures.
[[nodiscard]] inline std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden" / name;
}

/// A small exported run of two contenders.
inline const std::string small_run = ATTNSCOPE_SOURCE_DIR "/tests/store/small_run.attn";

/// The vocabulary of small checkpoints: special tokens and the letters a to p.
inline constexpr const char* letters =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\n";

/// A test that runs the program.
class ProgramTest : public ::testing::Test {
 protected:
  Program program;
};

}  // namespace attnscope::testing
