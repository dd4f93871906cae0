#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs the built `attnscope` with arguments in a temporary folder and returns its outcome.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace attnscope::testing {

struct Outcome {
  int exit_code = -1;
  std::string out, err;
  friend std::ostream& operator<<(std::ostream& stream, const Outcome& outcome) {
    return stream << "exit code " << outcome.exit_code << ", stderr: " << outcome.err;
  }
};

/// Exit code 2 and these words on stderr.
MATCHER_P(FailsWith, words, "") {
  return arg.exit_code == 2 && arg.err.find(words) != std::string::npos;
}
/// Also nothing on stdout and one line on stderr.
MATCHER_P(Refuses, words, "") {
  return arg.exit_code == 2 && arg.err.find(words) != std::string::npos && arg.out.empty() &&
         std::ranges::count(arg.err, '\n') == 1;
}

/// One line on stderr that starts with the program's name and contains all words, and nothing on
/// stdout.
void expect_refusal(const Outcome& outcome, int exit_code, const std::vector<std::string>& words);

/// Exit code 0 and these words on stdout.
MATCHER_P(Prints, words, "") {
  return arg.exit_code == 0 && arg.out.find(words) != std::string::npos;
}
/// Exit code 0 and these words on stderr.
MATCHER_P(Notes, words, "") {
  return arg.exit_code == 0 && arg.err.find(words) != std::string::npos;
}

/// `first` and `more`.
[[nodiscard]] inline std::vector<std::string> joined(std::vector<std::string> first,
                                                     const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

/// A temporary folder with its own database; removed by the destructor.
class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// `environment` adds NAME=VALUE variables.
  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments,
                            const std::vector<std::string>& environment = {}) const;
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// Writes a file into the folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

/// The last column of each line.
[[nodiscard]] std::vector<double> scores_in(const std::string& text);

/// The vocabulary of small checkpoints: special tokens and the letters a to p.
inline constexpr const char* letters =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\n";

/// A test that runs the program.
class ProgramTest : public ::testing::Test {
 protected:
  Program program;
};

}  // namespace attnscope::testing
